package countersign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"net"
	"net/http"
	"strings"
)

// ErrDigest is what reading a body of more than 10 MiB ends with if it does not have the digest that the agent signed.
var ErrDigest = errors.New("countersign: the body does not have the signed digest")

type decisionKey struct{}

// DecisionOf returns the gate's decision on a request that Middleware has passed on; nil if no gate has decided on it.
func DecisionOf(request *http.Request) *Decision {
	decision, _ := request.Context().Value(decisionKey{}).(*Decision)
	return decision
}

// Middleware admits or refuses agents before next sees their requests. In next, DecisionOf has the decision. The headers
// X-ServiceID-… of clients are removed, and those of the decision are set.
//
// A body of up to 10 MiB is compared with the signed digest before next gets the request. Reading a larger one ends with ErrDigest
// if it is another one.
func (g *Gate) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(response http.ResponseWriter, received *http.Request) {
		request := received.WithContext(received.Context())
		request.Header = received.Header.Clone()
		g.removeIdentityHeaders(request.Header)
		raw := g.rawRequest(request)
		decision := g.Decide(raw, g.clientAddress(request))
		if g.NeedsBody(decision) {
			decision = g.checkBody(decision, raw, request)
		}
		if g.options.OnDecision != nil {
			g.options.OnDecision(request, decision)
		}
		if denial := g.Denial(decision, raw); denial != nil {
			denial.write(response)
			return
		}
		for _, each := range g.ForwardedHeaders(decision) {
			request.Header.Set(each.Name, each.Value)
		}
		response.Header().Add("Vary", g.Vary())
		next.ServeHTTP(response, request.WithContext(context.WithValue(request.Context(), decisionKey{}, decision)))
	})
}

// rawRequest is the request as net/http received it. net/http has refused several Host fields, and uses that of an absolute target.
func (g *Gate) rawRequest(request *http.Request) *RawRequest {
	raw := &RawRequest{
		Method:    request.Method,
		Scheme:    "http",
		Authority: request.Host,
		Target:    request.RequestURI,
		Headers:   headerLines(request.Header),
	}
	if g.options.TLSTerminated || request.TLS != nil {
		raw.Scheme = "https"
	}
	if raw.Target == "" {
		raw.Target = request.URL.RequestURI()
	}
	// -1 if the length is not known, also of HTTP/2 without a header that says so.
	hasContent := request.ContentLength != 0
	raw.HasContent = &hasContent
	if !hasContent {
		raw.Body = []byte{}
	}
	return raw
}

func (g *Gate) clientAddress(request *http.Request) string {
	if g.options.ClientAddress != nil {
		return g.options.ClientAddress(request)
	}
	host, _, err := net.SplitHostPort(request.RemoteAddr)
	if err != nil {
		return request.RemoteAddr
	}
	return host
}

// removeIdentityHeaders removes what only a gateway may set. A proxy behind the gate would remove headers that the client lists in
// Connection, also those that the gate sets.
func (g *Gate) removeIdentityHeaders(header http.Header) {
	for name := range header {
		if g.IsIdentityHeader(name) {
			delete(header, name)
		}
	}
	for i, line := range header["Connection"] {
		var kept []string
		for _, each := range strings.Split(line, ",") {
			if !g.IsIdentityHeader(strings.TrimSpace(each)) {
				kept = append(kept, each)
			}
		}
		header["Connection"][i] = strings.Join(kept, ",")
	}
}

// checkBody compares the body with the signed digest. A body that is too large for this is compared while it is read.
func (g *Gate) checkBody(decision *Decision, raw *RawRequest, request *http.Request) *Decision {
	rest, field := request.Body, decision.Signature.ContentDigest
	body, err := io.ReadAll(io.LimitReader(rest, maxBodyBytes+1))
	// What was read, and the rest or the error: in shadow mode the site gets it whatever is decided.
	again := &joinedBody{io.MultiReader(bytes.NewReader(body), rest), rest}
	request.Body = again
	if err == nil && len(body) > maxBodyBytes && field != "" {
		request.Body = &digestReader{again, sha256.New(), field}
		return decision
	}
	if err != nil {
		// Of a body that cannot be read, nothing is known. No digest is that of this text.
		body = []byte(randomText(32))
	}
	return g.CheckBody(decision, raw, body)
}

type joinedBody struct {
	io.Reader
	io.Closer
}

// A digestReader reads a body, and ends with ErrDigest if it has another digest than the field says.
type digestReader struct {
	io.ReadCloser
	digest hash.Hash
	field  string
}

func (r *digestReader) Read(buffer []byte) (int, error) {
	count, err := r.ReadCloser.Read(buffer)
	r.digest.Write(buffer[:count])
	if err == io.EOF {
		if wanted, ok := parseContentDigest(r.field); !ok || !bytes.Equal(wanted, r.digest.Sum(nil)) {
			return count, ErrDigest
		}
	}
	return count, err
}

func (d *Denial) write(response http.ResponseWriter) {
	header := response.Header()
	for _, each := range d.Headers {
		if each.Name == "vary" {
			header.Add(each.Name, each.Value)
		} else {
			header.Set(each.Name, each.Value)
		}
	}
	response.WriteHeader(d.Status)
	_, _ = response.Write(d.Body)
}
