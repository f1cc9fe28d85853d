package countersign

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A delegatingService answers about one agent as a Countersign service does, with keys, certificates and status list. Its clock stands.
type delegatingService struct {
	*httptest.Server
	agent, issuer *AgentKey
	now           time.Time

	mutex    sync.Mutex
	status   string
	entry    byte
	sequence int
	depth    int
	isDown   bool
	asked    map[string]int
}

func newDelegatingService(t *testing.T) *delegatingService {
	t.Helper()
	service := &delegatingService{now: time.Unix(1_900_000_000, 0), status: "active", sequence: 1, depth: 3, asked: map[string]int{}}
	service.agent, service.issuer = newTestKey(t), newTestKey(t)
	service.Server = httptest.NewServer(service)
	t.Cleanup(service.Close)
	return service
}

func newTestKey(t *testing.T) *AgentKey {
	t.Helper()
	key, err := GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (s *delegatingService) sign(typ string, claims map[string]any) string {
	head, _ := json.Marshal(map[string]string{"alg": "EdDSA", "kid": s.issuer.Thumbprint(), "typ": typ})
	body, _ := json.Marshal(claims)
	input := encodeBase64URL(head) + "." + encodeBase64URL(body)
	return input + "." + encodeBase64URL(s.issuer.sign([]byte(input)))
}

func (s *delegatingService) jwkOf(key *AgentKey) map[string]string {
	return map[string]string{"kty": "OKP", "crv": "Ed25519", "x": encodeBase64URL(key.publicBytes()), "kid": key.Thumbprint()}
}

func (s *delegatingService) certificate() string {
	claims := map[string]any{
		"iss": s.URL, "sub": testDID, "iat": s.now.Unix(), "exp": s.now.Unix() + 86_400, "jti": "AAECAwQFBgcICQoLDA0ODw",
		"vct":            s.URL + "/credentials/agent-certificate",
		"cnf":            map[string]any{"jwk": s.jwkOf(s.agent)},
		"status":         map[string]any{"status_list": map[string]any{"uri": s.URL + "/status/1", "idx": 7}},
		"identityMethod": nil, "identityLevel": "unverified", "assurance": nil, "grade": "D", "policyVersion": 1,
		"keySequence": s.sequence, "keyChangedAt": "2026-01-01T00:00:00.000Z", "did_web": "did:web:id.example",
	}
	if s.depth > 0 {
		claims["maxDelegationDepth"] = s.depth
	}
	return s.sign(typCertificate, claims)
}

func (s *delegatingService) statusList() string {
	entries := make([]byte, statusListBytes)
	entries[1] = s.entry << 6
	var compressed bytes.Buffer
	writer := zlib.NewWriter(&compressed)
	_, _ = writer.Write(entries)
	_ = writer.Close()
	return s.sign(typStatusList, map[string]any{
		"sub": s.URL + "/status/1", "iat": s.now.Unix(), "exp": s.now.Unix() + 600, "ttl": 30,
		"status_list": map[string]any{"bits": 2, "lst": encodeBase64URL(compressed.Bytes())},
	})
}

func (s *delegatingService) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	path := request.URL.Path
	s.asked[path]++
	var answer any
	switch {
	case s.isDown:
		response.WriteHeader(503)
		return
	case path == "/status/1":
		fmt.Fprint(response, s.statusList())
		return
	case path == "/.well-known/jwks.json":
		answer = map[string]any{"keys": []any{s.jwkOf(s.issuer)}}
	case path == "/api/v1/agent/"+testDID:
		answer = map[string]any{
			"verified": s.status == "active", "certificate": map[string]string{"id": testDID, "status": s.status},
			"owner": map[string]any{"identityMethod": "in-person"},
		}
	case path == "/api/agents/"+testDID:
		answer = map[string]any{
			"svcDid": testDID, "status": s.status, "publicKey": s.agent.PublicKey(), "keyThumbprint": s.agent.Thumbprint(),
			"keySequence": s.sequence, "keyChangedAt": "2026-01-01T00:00:00.000Z",
		}
	default:
		response.WriteHeader(404)
		answer = map[string]any{"error": map[string]string{"code": "NOT_FOUND", "message": "why"}}
	}
	_ = json.NewEncoder(response).Encode(answer)
}

func (s *delegatingService) change(change func()) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	change()
}

// chainTo delegates to the keys in turn, with the limits for each of them.
func (s *delegatingService) chainTo(limits DelegationLimits, keys ...*AgentKey) string {
	before, signer := s.certificate(), s.agent
	text := before + "~"
	for at, key := range keys {
		hop := &readHop{
			DelegationHop: DelegationHop{key.Thumbprint(), s.now, s.now.Add(time.Hour), len(keys) - at - 1, limits},
			publicKey:     key.publicBytes(),
			nonce:         strings.Repeat("A", 22),
			binding:       bindingOf(before),
		}
		input := encodeBase64URL([]byte(hopHeader)) + "." + encodeBase64URL([]byte(hop.payload()))
		before = input + "." + encodeBase64URL(signer.sign([]byte(input)))
		text, signer = text+"~"+before+"~", key
	}
	return text
}

const gateOrigin = "https://shop.example"

func (s *delegatingService) gate(t *testing.T, policy string) *Gate {
	t.Helper()
	gate, err := NewGate(s.URL, GateOptions{
		Policy: []byte(policy), Audiences: []string{gateOrigin}, Nonces: &recordedNonces{}, now: func() time.Time { return s.now },
	})
	if err != nil {
		t.Fatal(err)
	}
	return gate
}

var nonceCount int

// signedWith returns a request with a chain, signed by a key.
func (s *delegatingService) signedWith(t *testing.T, key *AgentKey, chain, method, path string, more ...HeaderField) *RawRequest {
	t.Helper()
	nonceCount++
	tail := strings.TrimPrefix(testDID, "svc:agent:")
	headers := append([]HeaderField{
		{"ServiceID", testDID}, {"Signature-Agent", fmt.Sprintf(`sig1="%s/agent/%s/jwks.json"`, s.URL, tail)}, {"ServiceID-Certificate", chain},
	}, more...)
	parts := signedParts{method, gateOrigin, path, "", fieldsOf(headers), false}
	components := strictComponents(parts, component{"signature-agent", "sig1", true}, "ServiceID")
	var identifiers []string
	for _, each := range components {
		identifiers = append(identifiers, each.identifier())
	}
	params := fmt.Sprintf(`(%s);created=%d;expires=%d;keyid="%s";nonce="%022d";tag="web-bot-auth"`,
		strings.Join(identifiers, " "), s.now.Unix(), s.now.Unix()+60, key.Thumbprint(), nonceCount)
	base, err := signatureBase(parts, components, params)
	if err != nil {
		t.Fatal(err)
	}
	signature := "sig1=:" + encodeBase64(key.sign([]byte(base))) + ":"
	headers = append(headers, HeaderField{"Signature-Input", "sig1=" + params}, HeaderField{"Signature", signature})
	return &RawRequest{Method: method, Scheme: "https", Authority: "shop.example", Target: path, Headers: headers, Body: []byte{}}
}
