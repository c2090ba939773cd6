package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// runKubelet is the kubelet as it is; it reads its flags from os.Args.
func runKubelet(arguments []string) int {
	os.Args = append([]string{"kubelet"}, arguments...)
	return cli.Run(kubelet.NewKubeletCommand(context.Background()))
}
