package oracle

// kubernetesVersion is that of the modules in go.mod.
const kubernetesVersion = "v1.38.0-beta.0"
