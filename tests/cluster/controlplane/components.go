package main

import (
	"os"
	_ "time/tzdata" // the controller manager's time zones

	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl's authentication plugins
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func runAPIServer() int         { return cli.Run(apiserver.NewAPIServerCommand()) }
func runControllerManager() int { return cli.Run(controllermanager.NewControllerManagerCommand()) }
func runScheduler() int         { return cli.Run(scheduler.NewSchedulerCommand()) }

// runKubectl does what kubectl's own main does: plugins and .kuberc are handled while the
// command is built, so the verbosity has to be known before.
func runKubectl() int {
	_, _ = logs.GlogSetter(kubectl.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}
