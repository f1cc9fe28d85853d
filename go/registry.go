package countersign

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

const (
	maxResponseBytes = 1 << 20
	// Agents whose key sequence is remembered.
	maxKnownAgents = 10_000
	userAgent      = "countersign-go"
)

var jwtPattern = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)

// RegistryOptions are the options of NewRegistry. The zero value is for a service with the default names.
type RegistryOptions struct {
	Naming Naming
	// Timeout of a call; 15 seconds by default.
	Timeout time.Duration
	// Transport sends the requests; by default that of http.DefaultTransport.
	Transport http.RoundTripper
}

// A Registry is a client of a Countersign service: what it says about agents.
type Registry struct {
	// Service is its origin, such as https://id.example.
	Service string
	// Naming has the names of the deployment.
	Naming Naming

	client       *http.Client
	keySequences *boundedMap[string, int64]
	issuerData   *issuerData
}

// NewRegistry returns a client of the service at an origin, such as https://id.example. The error has CodeInvalidArgument.
func NewRegistry(service string, options RegistryOptions) (*Registry, error) {
	origin := strings.TrimSuffix(service, "/")
	if !isOrigin(origin) {
		return nil, errorf(CodeInvalidArgument, "The address of the service is not an origin, such as https://id.example: %q.", service)
	}
	naming, err := options.Naming.withDefaults()
	if err != nil {
		return nil, err
	}
	timeout := options.Timeout
	if timeout == 0 {
		timeout = 15 * time.Second
	}
	registry := &Registry{
		Service: origin,
		Naming:  naming,
		client: &http.Client{
			Transport: options.Transport,
			Timeout:   timeout,
			// A service does not redirect its API, so a redirect comes from somebody else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		keySequences: newBoundedMap[string, int64](maxKnownAgents),
	}
	registry.issuerData = newIssuerData(registry)
	return registry, nil
}

// A Lookup is the certificate of an agent, and how its owner is verified (contract 4.1).
type Lookup struct {
	DID string
	// Verified: the certificate is active.
	Verified bool
	// Status is active, suspended or revoked.
	Status string
	// IdentityMethod is the identity provider that verified the owner; empty if the owner is not verified.
	IdentityMethod string
}

// AgentInfo is what the service publishes about an agent and its key (contract 4.5).
type AgentInfo struct {
	DID       string
	Status    string
	PublicKey []byte
	// KeyThumbprint is the JWK thumbprint of the key.
	KeyThumbprint string
	// KeySequence is the number of the key among the keys of the agent, from 1.
	KeySequence  int64
	KeyChangedAt time.Time
	// OwnerChangedAt is when the agent came to its owner; zero if it was never transferred.
	OwnerChangedAt time.Time
}

// Lookup returns the certificate of an agent by its DID, its tail, or its public key in base64. Errors have the codes of the service,
// such as NOT_FOUND and VALIDATION_ERROR, or CodeNetwork.
func (r *Registry) Lookup(ctx context.Context, agent string) (Lookup, error) {
	answer, err := r.call(ctx, "GET", "/api/v1/agent/"+url.PathEscape(agent), nil)
	if err != nil {
		return Lookup{}, err
	}
	status, hasStatus := answer.object("certificate").text("status")
	verified, hasVerified := answer.members["verified"].(bool)
	owner := answer.object("owner")
	method, isMethod := owner.text("identityMethod")
	if !isMethod && (!owner.has("identityMethod") || owner.members["identityMethod"] != nil) {
		return Lookup{}, protocolError(200)
	}
	did, hasDID := answer.object("certificate").text("id")
	if !hasStatus || !hasVerified || !hasDID {
		return Lookup{}, protocolError(200)
	}
	return Lookup{did, verified, status, method}, nil
}

// Agent returns the agent object: status and current key. Errors as Lookup.
func (r *Registry) Agent(ctx context.Context, agent string) (AgentInfo, error) {
	answer, err := r.call(ctx, "GET", "/api/agents/"+url.PathEscape(agent), nil)
	if err != nil {
		return AgentInfo{}, err
	}
	did, hasDID := answer.text(r.Naming.didField())
	status, hasStatus := answer.text("status")
	encoded, _ := answer.text("publicKey")
	publicKey, isKey := decodeKey(encoded)
	thumbprint, hasThumbprint := answer.text("keyThumbprint")
	sequence, hasSequence := answer.integer("keySequence", 1, maxSafeInteger)
	changed, _ := answer.text("keyChangedAt")
	changedAt, err := time.Parse(time.RFC3339, changed)
	if !hasDID || !hasStatus || !isKey || !hasThumbprint || !hasSequence || err != nil {
		return AgentInfo{}, protocolError(200)
	}
	var ownerChangedAt time.Time
	if answer.has("ownerChangedAt") {
		changed, _ := answer.text("ownerChangedAt")
		if ownerChangedAt, err = time.Parse(time.RFC3339, changed); err != nil {
			return AgentInfo{}, protocolError(200)
		}
	}
	return AgentInfo{did, status, publicKey, thumbprint, sequence, changedAt, ownerChangedAt}, nil
}

// Grade returns the grade of an agent: A to E. Errors as Lookup.
func (r *Registry) Grade(ctx context.Context, agent string) (string, error) {
	answer, err := r.call(ctx, "GET", "/api/agents/"+url.PathEscape(agent)+"/grade", nil)
	if err != nil {
		return "", err
	}
	grade, ok := answer.text("grade")
	if !ok || !isGrade(grade) {
		return "", protocolError(200)
	}
	return grade, nil
}

// Certificate returns the signed certificate of an active agent: a JWT for VerifyCertificate. Errors as Lookup.
func (r *Registry) Certificate(ctx context.Context, agent string) (string, error) {
	return r.token(ctx, "/api/v1/agent/"+url.PathEscape(agent)+"/certificate", "application/jwt")
}

// VerifyCertificate verifies a certificate of this service that somebody has sent, with keys that are at most a minute old, and a status
// list that is at most maxAge old; a shared cache in front of the service adds its own time. Negative: as old as the list says it may be.
// Certificates are public: one proves nothing about who sends it.
//
// The error has CodeInvalidToken, CodeCertificateRevoked, CodeCertificateSuspended or CodeIssuerUnavailable.
func (r *Registry) VerifyCertificate(ctx context.Context, token string, maxAge time.Duration) (*Certificate, error) {
	return r.issuerData.verify(ctx, token, r.Service, maxAge, time.Now())
}

// StatusList returns the status list token at an address that a verified certificate names.
func (r *Registry) StatusList(ctx context.Context, address string) (string, error) {
	path, ok := cutPrefix(address, r.Service)
	if !ok || !strings.HasPrefix(path, "/") {
		return "", errorf(CodeInvalidArgument, "%s is not an address of %s.", address, r.Service)
	}
	return r.token(ctx, path, "application/statuslist+jwt")
}

// KeySet returns the keys of the service, for VerifyCertificate.
func (r *Registry) KeySet(ctx context.Context) (*KeySet, error) {
	data, _, err := r.send(ctx, "GET", "/.well-known/jwks.json", "application/json", nil)
	if err != nil {
		return nil, err
	}
	return ParseKeySet(data)
}

// LogProof returns the proof that the current key of an agent is in the service's transparency log, for VerifyKeyProof.
func (r *Registry) LogProof(ctx context.Context, agent string) (string, error) {
	data, _, err := r.send(ctx, "GET", "/log/proof/"+url.PathEscape(agent), "text/plain", nil)
	return string(data), err
}

func (r *Registry) token(ctx context.Context, path, accept string) (string, error) {
	data, status, err := r.send(ctx, "GET", path, accept, nil)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(data))
	if !jwtPattern.MatchString(text) {
		return "", protocolError(status)
	}
	return text, nil
}

// recordKeySequence records the number of an agent's key. False if this object has seen a higher one: the response of a stale cache.
func (r *Registry) recordKeySequence(did string, sequence int64) bool {
	last, _ := r.keySequences.get(did)
	if sequence > last {
		r.keySequences.set(did, sequence)
	}
	return sequence >= last
}

// call sends a request and returns the JSON object of the response. A body is sent as JSON.
func (r *Registry) call(ctx context.Context, method, path string, body any) (*jsonObject, error) {
	data, status, err := r.send(ctx, method, path, "application/json", body)
	if err != nil {
		return nil, err
	}
	object, err := parseJSONObject(data)
	if err != nil {
		return nil, protocolError(status)
	}
	return object, nil
}

func (r *Registry) send(ctx context.Context, method, path, accept string, body any) ([]byte, int, error) {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, 0, &Error{Code: CodeInvalidArgument, Message: err.Error(), Cause: err}
		}
		content = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, r.Service+path, content)
	if err != nil {
		return nil, 0, &Error{Code: CodeInvalidArgument, Message: err.Error(), Cause: err}
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("User-Agent", userAgent)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, 0, networkError(r.Service, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxResponseBytes+1))
	if err != nil {
		return nil, 0, networkError(r.Service, err)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, response.StatusCode, reportedError(data, response.StatusCode)
	}
	if len(data) > maxResponseBytes {
		return nil, response.StatusCode, protocolError(response.StatusCode)
	}
	return data, response.StatusCode, nil
}

func networkError(service string, cause error) error {
	return &Error{Code: CodeNetwork, Message: service + " did not answer: " + cause.Error(), Cause: cause}
}

func protocolError(status int) error {
	return &Error{Code: CodeProtocol, Message: "The response is not that of a Countersign service.", Status: status}
}

// reportedError is the error that a response reports.
func reportedError(data []byte, status int) error {
	answer, err := parseJSONObject(data)
	if err != nil {
		return protocolError(status)
	}
	reported := answer.object("error")
	code, hasCode := reported.text("code")
	message, hasMessage := reported.text("message")
	if !hasCode || !hasMessage {
		return protocolError(status)
	}
	requestID, _ := reported.text("requestId")
	return &Error{Code: code, Message: message, Status: status, RequestID: requestID}
}

func isGrade(text string) bool { return len(text) == 1 && text >= "A" && text <= "E" }
