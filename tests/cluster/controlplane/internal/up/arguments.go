package up

import (
	"fmt"
	"os"
	"path/filepath"
)

// etcdArguments do without waiting for the disk: no test survives a power cut.
func etcdArguments(data, clients, peers string) []string {
	return []string{
		"--data-dir=" + data,
		"--listen-client-urls=" + clients,
		"--advertise-client-urls=" + clients,
		"--listen-peer-urls=" + peers,
		"--unsafe-no-fsync",
	}
}

// apiServerArguments differ from a cluster's where there is no kubelet, no network and no
// service account.
func (plane *plane) apiServerArguments(port int) []string {
	return []string{
		"--etcd-servers=" + plane.etcd,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + plane.folder,
		"--tls-cert-file=" + plane.files.certificate,
		"--tls-private-key-file=" + plane.files.key,
		"--token-auth-file=" + plane.files.tokens,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + plane.files.serviceAccount,
		"--service-account-signing-key-file=" + plane.files.serviceAccount,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--disable-admission-plugins=ServiceAccount",
		// Policies that change objects are served in their older versions, too.
		"--runtime-config=admissionregistration.k8s.io/v1beta1=true,admissionregistration.k8s.io/v1alpha1=true," +
			plane.options.apis.runtimeConfig(),
	}
}

// controllerManagerArguments name the controllers one by one: the garbage collector would delete
// pods whose made-up owners do not exist.
func (plane *plane) controllerManagerArguments() []string {
	return []string{
		"--kubeconfig=" + plane.files.admin.Kubeconfig,
		"--leader-elect=false",
		"--use-service-account-credentials=false",
		"--controllers=" + plane.options.controllers,
		"--secure-port=0",
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	}
}

func (plane *plane) schedulerArguments() ([]string, error) {
	path := filepath.Join(plane.folder, "scheduler.yaml")
	content := fmt.Sprintf(schedulerConfiguration, plane.files.admin.Kubeconfig)
	return []string{"--config=" + path, "--secure-port=0"}, os.WriteFile(path, []byte(content), 0o600)
}

const schedulerConfiguration = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
clientConnection:
  kubeconfig: %s
  qps: 1000
  burst: 2000
`
