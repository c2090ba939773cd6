package up

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// user is a user that the API server knows by a token.
type user struct {
	Name       string `json:"name"`
	Token      string `json:"token"`
	Kubeconfig string `json:"kubeconfig"`
}

// credentials are the files that prove who is who. They outlive a restart of the API server.
type credentials struct {
	authority      string
	certificate    string
	key            string
	serviceAccount string
	tokens         string
	admin          user
	users          []user
}

// writeCredentials makes everything new: an authority, a certificate for 127.0.0.1, a key for
// service accounts, an administrator and the given number of users without permissions.
func writeCredentials(folder string, count int) (credentials, error) {
	result := credentials{
		authority:      filepath.Join(folder, "ca.crt"),
		certificate:    filepath.Join(folder, "apiserver.crt"),
		key:            filepath.Join(folder, "apiserver.key"),
		serviceAccount: filepath.Join(folder, "service-account.key"),
		tokens:         filepath.Join(folder, "tokens.csv"),
	}
	if err := writeCertificates(result); err != nil {
		return credentials{}, err
	}

	result.admin = newUser(folder, "admin")
	lines := []string{fmt.Sprintf("%s,admin,admin,system:masters", result.admin.Token)}
	for index := range count {
		name := fmt.Sprintf("user-%d", index)
		result.users = append(result.users, newUser(folder, name))
		lines = append(lines, fmt.Sprintf("%s,%s,%s", result.users[index].Token, name, name))
	}
	return result, os.WriteFile(result.tokens, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

func newUser(folder, name string) user {
	return user{Name: name, Token: rand.Text(), Kubeconfig: filepath.Join(folder, name+".kubeconfig")}
}

func writeCertificates(files credentials) error {
	authority := template("control plane for the tests")
	authority.IsCA = true
	authority.BasicConstraintsValid = true
	authority.KeyUsage = x509.KeyUsageCertSign
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := writeCertificate(files.authority, authority, authority, authorityKey, authorityKey); err != nil {
		return err
	}

	server := template("kube-apiserver")
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	server.DNSNames = []string{"localhost"}
	server.KeyUsage = x509.KeyUsageDigitalSignature
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	serverKey, err := writeKey(files.key)
	if err != nil {
		return err
	}
	if err := writeCertificate(files.certificate, server, authority, serverKey, authorityKey); err != nil {
		return err
	}
	_, err = writeKey(files.serviceAccount)
	return err
}

func template(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(7 * 24 * time.Hour),
	}
}

func writeKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(path, "EC PRIVATE KEY", encoded)
}

func writeCertificate(path string, certificate, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) error {
	encoded, err := x509.CreateCertificate(rand.Reader, certificate, parent, key.Public(), parentKey)
	if err != nil {
		return err
	}
	return writePEM(path, "CERTIFICATE", encoded)
}

func writePEM(path, kind string, content []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600)
}

// writeKubeconfigs writes one file per user for the server at the address.
func (files credentials) writeKubeconfigs(address string) error {
	for _, user := range append(files.users[:len(files.users):len(files.users)], files.admin) {
		content := fmt.Sprintf(kubeconfig, files.authority, address, user.Name, user.Name, user.Token)
		if err := os.WriteFile(user.Kubeconfig, []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

const kubeconfig = `apiVersion: v1
kind: Config
current-context: test
clusters:
- name: test
  cluster:
    certificate-authority: %s
    server: %s
contexts:
- name: test
  context:
    cluster: test
    user: %s
    namespace: default
users:
- name: %s
  user:
    token: %s
`
