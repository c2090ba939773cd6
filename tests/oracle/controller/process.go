package oracle

import (
	"flag"
	"os"

	"k8s.io/klog/v2"
)

// logLevelVariable turns on the controller's log on standard error.
const logLevelVariable = "ORACLE_LOG_LEVEL"

// prepareProcess sets what belongs to the whole process.
func prepareProcess() error {
	survivePanics()
	if err := configureLogging(os.Getenv(logLevelVariable)); err != nil {
		return err
	}
	return enableFeatures()
}

// configureLogging is silent by default: formatting thousands of log lines
// takes longer than the cases.
func configureLogging(level string) error {
	if level == "" {
		klog.SetLogger(klog.Logger{})
		return nil
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	return flags.Set("v", level)
}
