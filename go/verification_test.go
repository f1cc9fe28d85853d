package countersign

import (
	"testing"
	"time"
)

// A recordedNonces is a store that shows what it is given.
type recordedNonces struct{ nonces []UsedNonce }

func (s *recordedNonces) Record(nonce UsedNonce) (NonceOutcome, error) {
	s.nonces = append(s.nonces, nonce)
	return NonceFresh, nil
}

func TestWhatAVerifierIsGiven(t *testing.T) {
	key, err := KeyFromSeed(unhex(t, testSeed))
	if err != nil {
		t.Fatal(err)
	}
	other, _ := GenerateKey()
	now := time.Unix(1_800_000_000, 0)
	clock := func() time.Time { return now }
	for name, each := range map[string]struct {
		audience, scheme, host string
		found                  *AgentKey
		reason                 string
	}{
		"as it should be":                 {"https://shop.example", "https", "shop.example", key, ""},
		"an audience on http":             {"http://shop.example", "http", "shop.example", key, "insecure"},
		"https where an audience is http": {"http://127.0.0.1:3000", "https", "127.0.0.1:3000", key, "authority"},
		"on loopback":                     {"http://127.0.0.1:3000", "http", "127.0.0.1:3000", key, ""},
		"another key is found":            {"https://shop.example", "https", "shop.example", other, "unknown-key"},
	} {
		agent := testAgent(t, testSeed, Naming{}, AgentOptions{DID: testDID, Audiences: []string{"https://other.example"}, Now: clock})
		agent.audiences[each.audience] = true
		fields, err := agent.SignRequest(RequestToSign{Method: "GET", URL: each.audience + "/orders"})
		if err != nil {
			t.Fatal(name, err)
		}
		store := &recordedNonces{}
		verifier, err := NewRequestVerifier(VerifierOptions{
			Audiences: []string{each.audience},
			FindKey: func(SignatureAgent, string) (SigningKey, string) {
				return SigningKey{PublicKey: each.found.publicBytes(), DID: testDID}, ""
			},
			Nonces: store,
			Now:    clock,
		})
		if err != nil {
			t.Fatal(name, err)
		}
		result := verifier.Verify(&RawRequest{Method: "GET", Scheme: each.scheme, Authority: each.host, Target: "/orders", Headers: fields, Body: []byte{}})
		if result.Reason != each.reason {
			t.Errorf("%s: %q", name, result.Reason)
		}
		if each.reason == "" && (len(store.nonces) != 1 || store.nonces[0].ExpiresAt != now.Unix()+90 || store.nonces[0].CreatedAt != now.Unix()) {
			t.Error(name, store.nonces)
		}
	}
}
