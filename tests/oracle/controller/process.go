package oracle

import "k8s.io/klog/v2"

// prepareProcess sets what belongs to the whole process. Nothing is logged:
// formatting thousands of log lines takes longer than the cases.
func prepareProcess() error {
	survivePanics()
	klog.SetLogger(klog.Logger{})
	return enableFeatures()
}
