package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// runEtcd serves an etcd with one member. It understands the few of etcd's own flags that `up`
// uses, so that the real etcd can take its place.
func runEtcd() int {
	flags := flag.NewFlagSet("etcd", flag.ExitOnError)
	directory := flags.String("data-dir", "", "where the data lives")
	clients := flags.String("listen-client-urls", "", "where clients connect")
	_ = flags.String("advertise-client-urls", "", "ignored: the same as --listen-client-urls")
	peers := flags.String("listen-peer-urls", "", "where other members would connect")
	noSync := flags.Bool("unsafe-no-fsync", false, "do not wait for the disk")
	_ = flags.Parse(os.Args[1:])

	if err := serveEtcd(*directory, *clients, *peers, *noSync); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		return 1
	}
	return 0
}

func serveEtcd(directory, clients, peers string, noSync bool) error {
	clientURL, err := url.Parse(clients)
	if err != nil {
		return err
	}
	peerURL, err := url.Parse(peers)
	if err != nil {
		return err
	}
	config := embed.NewConfig()
	config.Dir = directory
	config.LogLevel = "warn"
	config.UnsafeNoFsync = noSync
	config.ListenClientUrls = []url.URL{*clientURL}
	config.AdvertiseClientUrls = []url.URL{*clientURL}
	config.ListenPeerUrls = []url.URL{*peerURL}
	config.AdvertisePeerUrls = []url.URL{*peerURL}
	config.InitialCluster = config.InitialClusterFromName(config.Name)

	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(time.Minute):
		return fmt.Errorf("etcd in %s did not become ready within a minute", directory)
	}
	return <-server.Err()
}
