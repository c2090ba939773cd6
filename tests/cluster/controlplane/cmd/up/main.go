// Command up is the subcommand `up` alone, for those who have all components as files: it builds
// in seconds.
package main

import (
	"os"

	"devicetaint.test/controlplane/internal/up"
)

func main() { os.Exit(up.Main("", os.Args[1:])) }
