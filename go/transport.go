package countersign

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// At most this much of a body is buffered, to sign or to compare its digest: 10 MiB.
	maxBodyBytes = 10 << 20
	// The longest time that Transport waits to send a request once more. A site that has just started needs 65 seconds at most.
	maxRetryAfterSeconds = 65
)

// Unlisted says what a Transport does with a request to a site that is not one of the agent's audiences.
type Unlisted int

const (
	// UnlistedRefuse returns an error with CodeWrongAudience.
	UnlistedRefuse Unlisted = iota
	// UnlistedPlain sends the request without a signature and without the identification header.
	UnlistedPlain
)

// A Transport is an http.RoundTripper that signs each request to the agent's audiences, each redirect anew.
//
// If a response asks for it with Accept-Signature, the request is signed and sent once more: at once with a nonce of the site, or
// after the time in Retry-After. Bodies are buffered, up to 10 MiB.
type Transport struct {
	Agent *Agent
	// Base sends the requests; by default http.DefaultTransport.
	Base http.RoundTripper
	// Unlisted is about other sites than the agent's audiences.
	Unlisted Unlisted
}

// Client returns an http.Client that signs the requests to the agent's audiences.
func (a *Agent) Client() *http.Client { return &http.Client{Transport: &Transport{Agent: a}} }

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := t.readBody(request)
	if err != nil {
		return nil, err
	}
	origin, err := originOf(request)
	if err != nil {
		return nil, err
	}
	if !t.Agent.audiences[origin] {
		if t.Unlisted != UnlistedPlain {
			return nil, t.Agent.wrongAudience(origin)
		}
		return t.base().RoundTrip(t.plain(request, body))
	}
	if t.Agent.DID() == "" {
		if _, err := t.Agent.WhoAmI(request.Context()); err != nil {
			return nil, err
		}
	}
	signed, err := t.signed(request, body, "")
	if err != nil {
		return nil, err
	}
	response, err := t.base().RoundTrip(signed)
	if err != nil {
		return nil, err
	}
	nonce, wait, again := asksAgain(response)
	if !again || !sleep(request, wait) {
		return response, nil
	}
	_, _ = io.CopyN(io.Discard, response.Body, 1<<16)
	response.Body.Close()
	if signed, err = t.signed(request, body, nonce); err != nil {
		return nil, err
	}
	return t.base().RoundTrip(signed)
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// readBody reads the body of a request, and closes it as a RoundTripper must.
func (t *Transport) readBody(request *http.Request) ([]byte, error) {
	if request.Body == nil || request.Body == http.NoBody {
		return nil, nil
	}
	defer request.Body.Close()
	body, err := io.ReadAll(io.LimitReader(request.Body, maxBodyBytes+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxBodyBytes {
		return nil, errorf(CodeInvalidArgument, "A body of more than 10 MiB cannot be signed by Transport. Use SignRequest.")
	}
	return body, nil
}

// originOf returns the origin to which net/http sends a request.
func originOf(request *http.Request) (string, error) {
	url := request.URL
	if url.Opaque != "" || (url.Scheme != "http" && url.Scheme != "https") {
		return "", errorf(CodeInvalidArgument, "Only requests to http and https URLs can be signed.")
	}
	origin, ok := normalizeAuthority(url.Host, url.Scheme)
	if !ok {
		return "", errorf(CodeInvalidArgument, "The host %q is not in its normalized form.", url.Host)
	}
	// Whoever gets the request could use its signature at the site that Host names.
	if named, ok := normalizeAuthority(request.Host, url.Scheme); request.Host != "" && (!ok || named != origin) {
		return "", errorf(CodeInvalidArgument, "The request to %s names another Host.", url.Host)
	}
	return url.Scheme + "://" + origin, nil
}

// signed returns a copy of the request with a signature. The original stays as it is, so that http.Client makes redirects without it.
func (t *Transport) signed(request *http.Request, body []byte, nonce string) (*http.Request, error) {
	origin, err := originOf(request)
	if err != nil {
		return nil, err
	}
	method := request.Method
	if method == "" {
		method = "GET"
	}
	clone := t.plain(request, body)
	fields, err := t.Agent.SignRequest(RequestToSign{
		Method:  method,
		URL:     origin + request.URL.RequestURI(),
		Headers: headerLines(clone.Header),
		Body:    body,
		Nonce:   nonce,
	})
	if err != nil {
		return nil, err
	}
	for _, each := range fields {
		clone.Header.Set(each.Name, each.Value)
	}
	return clone, nil
}

// plain returns a copy of the request without the headers of a signature.
func (t *Transport) plain(request *http.Request, body []byte) *http.Request {
	clone := request.Clone(request.Context())
	if clone.Header == nil {
		clone.Header = http.Header{}
	}
	for name := range clone.Header {
		switch strings.ToLower(name) {
		case "signature", "signature-input", "signature-agent", strings.ToLower(t.Agent.registry.Naming.IDHeader):
			delete(clone.Header, name)
		}
	}
	if body == nil {
		return clone
	}
	clone.TransferEncoding = nil
	clone.ContentLength = int64(len(body))
	clone.Body = io.NopCloser(bytes.NewReader(body))
	if len(body) == 0 {
		clone.Body = http.NoBody
	}
	clone.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return clone
}

// headerLines lists the lines of a header, those of one name in their order.
func headerLines(header http.Header) []HeaderField {
	var lines []HeaderField
	for name, values := range header {
		for _, each := range values {
			lines = append(lines, HeaderField{name, each})
		}
	}
	return lines
}

// asksAgain reports whether a response asks for its request once more: with a nonce, or after a time.
func asksAgain(response *http.Response) (nonce string, wait time.Duration, again bool) {
	field := strings.Join(response.Header.Values("Accept-Signature"), ", ")
	if nonce := ChallengeNonce(response.StatusCode, field); nonce != "" {
		return nonce, 0, true
	}
	_, isAsked := askedSignature(response.StatusCode, field)
	seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 16)
	if response.StatusCode != http.StatusServiceUnavailable || !isAsked || err != nil || seconds > maxRetryAfterSeconds {
		return "", 0, false
	}
	return "", time.Duration(seconds) * time.Second, true
}

// sleep waits; false if the request is cancelled meanwhile.
func sleep(request *http.Request, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-request.Context().Done():
		return false
	}
}
