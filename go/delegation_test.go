package countersign

import (
	"context"
	"crypto/ed25519"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

func codesOf(decision *Decision) string {
	var codes []string
	for _, each := range decision.Reasons {
		codes = append(codes, each.Code)
	}
	return strings.Join(codes, " ")
}

const acceptsChains = `{"requireProof": true, "delegation": {"maxDepth": 3, "maxSeconds": 86400, "mcp": true}}`

var shopOnly = DelegationLimits{Origins: []string{gateOrigin}}

func TestAGatePassesTheDelegateOn(t *testing.T) {
	service, key, worker := newDelegatingService(t), newTestKey(t), newTestKey(t)
	gate := service.gate(t, acceptsChains)
	decision := gate.Decide(service.signedWith(t, worker, service.chainTo(shopOnly, key, worker), "GET", "/"), "")
	if !decision.Admitted || decision.DID != testDID || decision.Proof != "signature" {
		t.Fatalf("%s %+v", codesOf(decision), decision.Signature)
	}
	want := Delegate{worker.Thumbprint(), 2, service.now.Add(time.Hour)}
	if *decision.Delegation != want {
		t.Error(decision.Delegation)
	}
	forwarded := http.Header{}
	for _, each := range gate.ForwardedHeaders(decision) {
		forwarded.Set(each.Name, each.Value)
	}
	if forwarded.Get("X-ServiceID-Delegate") != worker.Thumbprint() || forwarded.Get("X-ServiceID-DID") != testDID {
		t.Error(forwarded)
	}
}

func TestTheMiddlewareRemovesADelegateThatAClientNames(t *testing.T) {
	site := newSite(t, requireProof, nil)
	request := site.signed(t, "GET", "/", "")
	request.Header.Set("X-ServiceID-Delegate", strings.Repeat("A", 43))
	request.Header["X_serviceid_delegate"] = []string{"x"}
	if status, _, _ := site.send(t, request); status != 200 {
		t.Fatal(status)
	}
	seen, _ := site.last()
	if seen.Header.Get("X-ServiceID-Delegate") != "" || len(seen.Header["X_serviceid_delegate"]) > 0 {
		t.Error(seen.Header)
	}
}

func TestRulesOnChains(t *testing.T) {
	service, key, worker := newDelegatingService(t), newTestKey(t), newTestKey(t)
	chain := service.chainTo(shopOnly, key, worker)
	for _, each := range []struct{ policy, codes string }{
		{`{}`, "delegation-refused signature-proven"},
		{`{"delegation": null}`, "delegation-refused signature-proven"},
		{`{"delegation": {}}`, "delegation-refused signature-proven"},
		{`{"delegation": {"maxDepth": 2, "maxSeconds": 3599}}`, "delegation-refused signature-proven"},
		{`{"delegation": {"maxDepth": 2}}`, "owner-verified signature-proven"},
		{`{"delegation": {"maxDepth": 2}, "deny": ["` + testDID + `"]}`, "deny-list signature-proven"},
		{`{"delegation": {"maxDepth": 2}, "routes": [{"path": "/", "delegation": null}]}`, "delegation-refused signature-proven"},
		{`{"routes": [{"path": "/", "delegation": {"maxDepth": 2}}]}`, "owner-verified signature-proven"},
	} {
		gate := service.gate(t, each.policy)
		decision := gate.Decide(service.signedWith(t, worker, chain, "GET", "/"), "")
		if codesOf(decision) != each.codes {
			t.Errorf("%s: %s %+v", each.policy, codesOf(decision), decision.Signature)
		}
		isRefused := strings.HasPrefix(each.codes, "delegation-refused")
		if isRefused && (decision.Refusal.Status != 403 || decision.Signature.Reason != "delegation-refused") {
			t.Error(each.policy, decision.Refusal, decision.Signature.Reason)
		}
		if isRefused && len(gate.nonces.(*recordedNonces).nonces) > 0 {
			t.Error("a nonce was used for a refused request")
		}
	}
	limited := service.chainTo(DelegationLimits{Origins: shopOnly.Origins, MCP: []string{"tools/list"}}, key)
	call := HeaderField{"Mcp-Method", "tools/list"}
	for policy, isAdmitted := range map[string]bool{`{"delegation": {}}`: false, `{"delegation": {"mcp": true}}`: true} {
		decision := service.gate(t, policy).Decide(service.signedWith(t, key, limited, "GET", "/", call), "")
		if decision.Admitted != isAdmitted {
			t.Error(policy, codesOf(decision))
		}
	}
}

func TestARequestWhoseChainDoesNotCountIsNotAdmittedOtherwise(t *testing.T) {
	service, key := newDelegatingService(t), newTestKey(t)
	gate := service.gate(t, `{"delegation": {}, "unreachable": "allow"}`)
	named := &RawRequest{Method: "GET", Scheme: "https", Authority: "shop.example", Target: "/", Headers: []HeaderField{{"ServiceID", testDID}}}
	if decision := gate.Decide(named, ""); !decision.Admitted {
		t.Fatal("the header alone", codesOf(decision))
	}
	limits := DelegationLimits{Origins: shopOnly.Origins, Methods: []string{"GET"}, Paths: []string{"/orders/*"}}
	chain := service.chainTo(limits, key)
	expect := func(name string, request *RawRequest, codes string, status int) {
		t.Helper()
		decision := gate.Decide(request, "")
		if decision.Admitted || codesOf(decision) != codes || decision.Refusal.Status != status {
			t.Errorf("%s: %s %+v", name, codesOf(decision), decision.Signature)
		}
	}
	expect("outside", service.signedWith(t, key, chain, "GET", "/admin"), "delegation-limit", 403)
	expect("an override", service.signedWith(t, key, chain, "GET", "/orders/1", HeaderField{"X-HTTP-Method", "POST"}), "delegation-limit", 403)
	expect("no chain", service.signedWith(t, key, chain[:len(chain)-1], "GET", "/orders/1"), "signature-invalid", 401)
	expect("the agent's key", service.signedWith(t, service.agent, chain, "GET", "/orders/1"), "signature-invalid", 401)
	elsewhere := service.signedWith(t, key, chain, "GET", "/orders/1")
	elsewhere.Headers[1].Value = `sig1="https://other.example/agent/x/jwks.json"`
	expect("another service", elsewhere, "signature-unverified delegation-unproven", 401)
	if decision := gate.Decide(service.signedWith(t, key, chain, "GET", "/orders/1"), ""); !decision.Admitted {
		t.Error(codesOf(decision), decision.Signature)
	}
	service.change(func() { service.isDown, service.now = true, service.now.Add(5*time.Second) })
	expect("unreachable", service.signedWith(t, key, chain, "GET", "/orders/1"), "signature-unverified delegation-unproven", 503)
	gate.nonces = brokenNonces{panics: true}
	service.change(func() { service.isDown, service.now = false, service.now.Add(5*time.Second) })
	expect("a failure", service.signedWith(t, key, chain, "GET", "/orders/1"), "gateway-failed", 503)
}

func TestAChainEndsWithItsCertificate(t *testing.T) {
	for _, each := range []struct {
		name   string
		change func(*delegatingService)
		codes  string
		reason string
	}{
		{"entry", func(s *delegatingService) { s.entry = 1 }, "certificate-replaced", "delegation-ended"},
		{"key", func(s *delegatingService) { s.agent, s.sequence = &AgentKey{s.issuer.private}, 2 }, "certificate-replaced", "delegation-ended"},
		{"sequence", func(s *delegatingService) { s.sequence = 2 }, "certificate-replaced", "delegation-ended"},
		{"suspended", func(s *delegatingService) { s.entry, s.status = 2, "suspended" }, "status-refused signature-proven", "not-admitted"},
		{"suspended in the list", func(s *delegatingService) { s.entry = 2 }, "status-refused signature-proven", "not-admitted"},
		{"issuer's key", func(s *delegatingService) {
			s.issuer = &AgentKey{ed25519.NewKeyFromSeed(make([]byte, 32))}
			s.now = s.now.Add(time.Minute)
		}, "certificate-invalid", "delegation-invalid"},
	} {
		service, key := newDelegatingService(t), newTestKey(t)
		gate, chain := service.gate(t, acceptsChains), service.chainTo(shopOnly, key)
		for i := 0; i < 2; i++ {
			if decision := gate.Decide(service.signedWith(t, key, chain, "GET", "/"), ""); !decision.Admitted {
				t.Fatal(each.name, codesOf(decision), decision.Signature)
			}
		}
		if service.asked["/status/1"] != 1 || service.asked["/.well-known/jwks.json"] != 1 {
			t.Error(service.asked)
		}
		service.change(func() { each.change(service); service.now = service.now.Add(5 * time.Second) })
		decision := gate.Decide(service.signedWith(t, key, chain, "GET", "/"), "")
		if codesOf(decision) != each.codes || decision.Signature.Reason != each.reason {
			t.Errorf("%s: %s %s", each.name, codesOf(decision), decision.Signature.Reason)
		}
	}
}

func TestVerifyCertificateOfAService(t *testing.T) {
	service := newDelegatingService(t)
	service.now = time.Now()
	registry, err := NewRegistry(service.URL, RegistryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	clock := service.now
	registry.issuerData.elapsed = func() time.Time { return clock }
	verify := func(token string, maxAge time.Duration) (*Certificate, error) {
		return registry.VerifyCertificate(context.Background(), token, maxAge)
	}
	token := service.certificate()
	certificate, err := verify(token, -1)
	if err != nil || certificate.DID != testDID || certificate.MaxDelegationDepth != 3 {
		t.Fatal(certificate, err)
	}
	service.change(func() { service.entry = 2 })
	if _, err := verify(token, -1); err != nil {
		t.Error("within the time that the list says", err)
	}
	clock = clock.Add(5 * time.Second)
	expect := func(token string, maxAge time.Duration, code string) {
		t.Helper()
		if _, err := verify(token, maxAge); !errors.Is(err, &Error{Code: code}) {
			t.Error(err, "instead of", code)
		}
	}
	expect(token, 5*time.Second, CodeCertificateSuspended)
	service.change(func() { service.entry = 1 })
	expect(token, 0, CodeCertificateRevoked)
	expect(token[:len(token)-4]+"AAAA", 0, CodeInvalidToken)
	other := newDelegatingService(t)
	other.now = service.now
	asked := len(service.asked)
	expect(other.certificate(), 0, CodeInvalidToken)
	if len(service.asked) != asked {
		t.Error("something was fetched for a token that is refused anyway")
	}
	service.change(func() { service.now = service.now.Add(-time.Second) })
	expect(token, 0, CodeIssuerUnavailable)
	service.change(func() { service.isDown = true })
	expect(token, 0, CodeIssuerUnavailable)
	count := service.asked["/status/1"]
	expect(token, 0, CodeIssuerUnavailable)
	if service.asked["/status/1"] != count {
		t.Error("the service is asked again within a second after a failure")
	}
}

func TestMistakesOfDelegationInAPolicy(t *testing.T) {
	for _, each := range [][2]string{
		{`{"delegation": 1}`, "policy.delegation must be an object"},
		{`{"delegation": {"depth": 1}}`, "policy.delegation.depth is unknown"},
		{`{"delegation": {"maxDepth": 4}}`, "policy.delegation.maxDepth must be an integer from 1 to 3"},
		{`{"delegation": {"maxSeconds": 1.5}}`, "policy.delegation.maxSeconds must be an integer from 1 to 86400"},
		{`{"routes": [{"path": "/", "delegation": {"mcp": 1}}]}`, "policy.routes[0].delegation.mcp must be `true` or `false`"},
	} {
		_, err := ReadPolicy([]byte(each[0]), Naming{})
		mistakes, ok := err.(*PolicyError)
		if !ok || len(mistakes.Mistakes) != 1 || mistakes.Mistakes[0] != each[1] {
			t.Error(each[0], err)
		}
	}
}
