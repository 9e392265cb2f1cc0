// SPDX-License-Identifier: Apache-2.0

// Go's net/http with its own TLS and resolver: one request for each URL, on kept connections.
// Prints "status N" or "error: ..."; ends with 0 when every request got an answer.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	ca := flag.String("ca", "", "trusted certificates, PEM")
	insecure := flag.Bool("insecure", false, "check no certificate")
	maxTLS12 := flag.Bool("max-tls12", false, "speak TLS 1.2 at most")
	method := flag.String("method", "GET", "method")
	timeout := flag.Float64("timeout", 10, "seconds for one request")
	pause := flag.Float64("pause", 0, "seconds between two requests")
	count := flag.Int("count", 1, "times the whole list")
	h2 := flag.Bool("h2", false, "offer HTTP/2")
	flag.Parse()

	secret := os.Getenv("LIVE_SECRET")
	settings := &tls.Config{InsecureSkipVerify: *insecure}
	if *ca != "" {
		pem, err := os.ReadFile(*ca)
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(2)
		}
		settings.RootCAs = x509.NewCertPool()
		settings.RootCAs.AppendCertsFromPEM(pem)
	}
	if *maxTLS12 {
		settings.MaxVersion = tls.VersionTLS12
	}
	client := &http.Client{
		Timeout:   time.Duration(*timeout * float64(time.Second)),
		Transport: &http.Transport{TLSClientConfig: settings, ForceAttemptHTTP2: *h2},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	failed := false
	first := true
	for i := 0; i < *count; i++ {
		for _, url := range flag.Args() {
			if !first && *pause > 0 {
				time.Sleep(time.Duration(*pause * float64(time.Second)))
			}
			first = false
			var body io.Reader
			if *method == "POST" {
				body = strings.NewReader(`{"secret":"` + secret + `"}`)
			}
			request, err := http.NewRequest(*method, url+"?token="+secret, body)
			if err != nil {
				fmt.Println("error:", err)
				os.Exit(2)
			}
			request.Header.Set("Authorization", "Bearer "+secret)
			answer, err := client.Do(request)
			if err != nil {
				failed = true
				fmt.Println("error:", strings.ReplaceAll(err.Error(), secret, "(hidden)"))
				continue
			}
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			fmt.Println("status", answer.StatusCode)
		}
	}
	if failed {
		os.Exit(1)
	}
}
