package up

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	// readyDeadline is how long a component may take to become ready.
	readyDeadline = 90 * time.Second
	// readyInterval is how often it is asked.
	readyInterval = 50 * time.Millisecond
)

// client asks the API server as one user.
type client struct {
	address string
	token   string
	http    *http.Client
}

func newClient(address string, files credentials) (*client, error) {
	authority, err := os.ReadFile(files.authority)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	return &client{
		address: address,
		token:   files.admin.Token,
		http: &http.Client{
			Timeout:   5 * time.Second,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
		},
	}, nil
}

// get returns the body of an answer with status 200 and an error for all others.
func (client *client) get(path string) ([]byte, error) {
	request, err := http.NewRequest(http.MethodGet, client.address+path, nil)
	if err != nil {
		return nil, err
	}
	if client.token != "" {
		request.Header.Set("Authorization", "Bearer "+client.token)
	}
	response, err := client.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %s", path, response.Status, strings.TrimSpace(string(body)))
	}
	return body, nil
}

// ready says whether the API server is ready and serves the versions and no others.
func (client *client) ready(wanted []string) error {
	if _, err := client.get("/readyz"); err != nil {
		return err
	}
	body, err := client.get("/apis")
	if err != nil {
		return err
	}
	var groups struct {
		Groups []struct {
			Name     string `json:"name"`
			Versions []struct {
				Version string `json:"version"`
			} `json:"versions"`
		} `json:"groups"`
	}
	if err := json.Unmarshal(body, &groups); err != nil {
		return err
	}
	var served []string
	for _, entry := range groups.Groups {
		if entry.Name != group {
			continue
		}
		for _, version := range entry.Versions {
			served = append(served, version.Version)
		}
	}
	slices.Sort(served)
	wanted = slices.Sorted(slices.Values(wanted))
	if !slices.Equal(served, wanted) {
		return fmt.Errorf("%s is served in %q instead of %q", group, served, wanted)
	}
	return nil
}

// waitUntilReady asks until the component is ready. It fails early when the component has ended.
func waitUntilReady(stop context.Context, component *process, ready func() error) error {
	deadline := time.After(readyDeadline)
	interval := time.NewTicker(readyInterval)
	defer interval.Stop()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-component.exited:
			return component.failure("ended while it started")
		case <-deadline:
			return component.failure(fmt.Sprintf("was not ready after %s (%v)", readyDeadline, err))
		case <-stop.Done():
			return errStopped
		case <-interval.C:
		}
	}
}

// errStopped is the end that was asked for.
var errStopped = errors.New("stopped")
