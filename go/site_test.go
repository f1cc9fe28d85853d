package countersign

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A fakeService answers as a Countersign service does, about one agent.
type fakeService struct {
	*httptest.Server
	key      *AgentKey
	mutex    sync.Mutex
	status   string
	method   *string
	sequence int
	down     bool
	calls    int
	claims   []map[string]string
}

func newFakeService(t *testing.T) *fakeService {
	t.Helper()
	key, err := GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	method := "in-person"
	service := &fakeService{key: key, status: "active", method: &method, sequence: 1}
	service.Server = httptest.NewServer(service)
	t.Cleanup(service.Close)
	return service
}

func (s *fakeService) change(change func()) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	change()
}

func (s *fakeService) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.calls++
	answer := func(status int, value any) {
		response.WriteHeader(status)
		_ = json.NewEncoder(response).Encode(value)
	}
	refuse := func(status int, code string) {
		answer(status, map[string]any{"error": map[string]string{"code": code, "message": "why", "requestId": "req_1"}})
	}
	path := request.URL.Path
	switch {
	case s.down:
		refuse(503, "UNAVAILABLE")
	case path == "/api/v1/claim":
		var claim map[string]string
		_ = json.NewDecoder(request.Body).Decode(&claim)
		s.claims = append(s.claims, claim)
		answer(200, map[string]string{"svcDid": testDID})
	case strings.HasPrefix(path, "/api/v1/agent/") && strings.HasSuffix(path, testDID):
		answer(200, map[string]any{
			"verified":    s.status == "active",
			"certificate": map[string]string{"id": testDID, "status": s.status},
			"owner":       map[string]any{"identityMethod": s.method},
		})
	case strings.HasPrefix(path, "/api/agents/") && (strings.HasSuffix(path, testDID) || strings.HasSuffix(path, s.key.PublicKey())):
		answer(200, map[string]any{
			"svcDid": testDID, "status": s.status, "publicKey": s.key.PublicKey(), "keyThumbprint": s.key.Thumbprint(),
			"keySequence": s.sequence, "keyChangedAt": "2026-01-01T00:00:00.000Z",
		})
	case path == "/moved":
		http.Redirect(response, request, "/api/agents/"+testDID, http.StatusFound)
	default:
		refuse(404, "NOT_FOUND")
	}
}

// A site is an http.Handler behind a gate, at an address of its own.
type site struct {
	*httptest.Server
	service *fakeService
	gate    *Gate
	// seen has the requests that the handler has received, and bodies what it has read.
	mutex  sync.Mutex
	seen   []*http.Request
	bodies []string
}

// olderNonces is a store that is older than every request of a test.
func olderNonces() NonceStore {
	store := NewMemoryNonceStore(MemoryNonceStoreOptions{Now: func() time.Time { return time.Now().Add(-time.Hour) }})
	store.now = time.Now
	return store
}

func newSite(t *testing.T, policy string, change func(*GateOptions)) *site {
	t.Helper()
	found := &site{service: newFakeService(t)}
	handler := http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		found.mutex.Lock()
		defer found.mutex.Unlock()
		found.seen, found.bodies = append(found.seen, request), append(found.bodies, string(body))
		if err != nil {
			http.Error(response, err.Error(), http.StatusTeapot)
			return
		}
		fmt.Fprint(response, "hello "+DecisionOf(request).DID)
	})
	found.Server = httptest.NewUnstartedServer(nil)
	options := GateOptions{Policy: []byte(policy), Audiences: []string{"http://" + found.Listener.Addr().String()}, Nonces: olderNonces()}
	if change != nil {
		change(&options)
	}
	gate, err := NewGate(found.service.URL, options)
	if err != nil {
		t.Fatal(err)
	}
	found.gate = gate
	found.Config.Handler = gate.Middleware(handler)
	found.Start()
	t.Cleanup(found.Close)
	return found
}

func (s *site) agent(t *testing.T, key *AgentKey) *Agent {
	t.Helper()
	registry, err := NewRegistry(s.service.URL, RegistryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := NewAgent(registry, key, AgentOptions{DID: testDID, Audiences: []string{s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

// signed returns a request to the site with a signature of the agent.
func (s *site) signed(t *testing.T, method, path, body string) *http.Request {
	t.Helper()
	var content []byte
	if body != "" {
		content = []byte(body)
	}
	fields, err := s.agent(t, s.service.key).SignRequest(RequestToSign{Method: method, URL: s.URL + path, Body: content})
	if err != nil {
		t.Fatal(err)
	}
	request := s.request(t, method, path, body)
	for _, each := range fields {
		request.Header.Set(each.Name, each.Value)
	}
	return request
}

func (s *site) request(t *testing.T, method, path, body string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// send returns status, headers, and the codes of the reasons of a refusal.
func (s *site) send(t *testing.T, request *http.Request) (int, http.Header, []string) {
	t.Helper()
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var refused struct{ Error struct{ Reasons []string } }
	_ = json.Unmarshal(body, &refused)
	return response.StatusCode, response.Header, refused.Error.Reasons
}

func (s *site) last() (*http.Request, string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.seen) == 0 {
		return nil, ""
	}
	return s.seen[len(s.seen)-1], s.bodies[len(s.bodies)-1]
}
