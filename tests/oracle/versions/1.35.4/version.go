package oracle

// kubernetesVersion is that of the modules in go.mod.
const kubernetesVersion = "v1.35.4"
