package countersign

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"
)

type vectorAgent struct {
	PublicKeyHex, Keyid, DID, Status, SignatureAgent string
	KeySequence                                      int64
}

func (a vectorAgent) key(t *testing.T) SigningKey {
	return SigningKey{PublicKey: unhex(t, a.PublicKeyHex), DID: a.DID, Status: a.Status}
}

// A vectorHop has times in milliseconds.
type vectorHop struct {
	Keyid               string
	IssuedAt, ExpiresAt int64
	MaxDepth            int
	Limits              DelegationLimits
}

func (h vectorHop) hop() DelegationHop {
	return DelegationHop{h.Keyid, time.Unix(h.IssuedAt/1000, 0), time.Unix(h.ExpiresAt/1000, 0), h.MaxDepth, h.Limits}
}

type delegationCase struct {
	Name          string
	Case          *int
	Request       vectorRequest
	DID           string
	Hops          []vectorHop
	Reason, Fault string
	// Delegation is null if the verifier accepts no chains, StatusList if it cannot be read.
	Delegation, StatusList json.RawMessage
	After                  []string
}

type delegationVectors struct {
	ShortName, IDHeader, Issuer string
	Now                         int64
	Audiences                   []string
	KeySet                      json.RawMessage
	StatusList                  string
	Agents                      []vectorAgent
	Delegation                  json.RawMessage
	Valid, Invalid              []delegationCase
}

func (f *delegationVectors) now() time.Time { return time.UnixMilli(f.Now) }

func (f *delegationVectors) agentAt(url string) (vectorAgent, bool) {
	for _, each := range f.Agents {
		if each.SignatureAgent == url {
			return each, true
		}
	}
	return vectorAgent{}, false
}

// findRoot is what a service says of its agents, its keys and its list.
func (f *delegationVectors) findRoot(t *testing.T, lists []string) RootLookup {
	keys, err := ParseKeySet(f.KeySet)
	if err != nil {
		t.Fatal(err)
	}
	options := TokenOptions{Issuers: map[string]*KeySet{f.Issuer: keys}, StatusLists: lists, Now: f.now}
	return func(root DelegationRoot) (SigningKey, string) {
		agent, ok := f.agentAt(root.SignatureAgent.URL)
		if !ok {
			return SigningKey{}, "untrusted-agent"
		}
		if root.DID != agent.DID {
			return SigningKey{}, "delegation-invalid"
		}
		certificate, err := VerifyCertificate(root.Certificate, options)
		switch {
		case errors.Is(err, &Error{Code: CodeInvalidToken}):
			return SigningKey{}, "delegation-invalid"
		case errors.Is(err, &Error{Code: CodeCertificateRevoked}):
			return SigningKey{}, "delegation-ended"
		case errors.Is(err, &Error{Code: CodeIssuerUnavailable}):
			return SigningKey{}, "directory-unavailable"
		case err == nil && certificate.KeySequence != agent.KeySequence, root.KeyID != agent.Keyid:
			return SigningKey{}, "delegation-ended"
		}
		return agent.key(t), ""
	}
}

func (f *delegationVectors) verifier(t *testing.T, each delegationCase, nonces NonceStore) *RequestVerifier {
	t.Helper()
	policy := each.Delegation
	if policy == nil {
		policy = f.Delegation
	}
	lists := []string{f.StatusList}
	if each.StatusList != nil {
		lists = nil
	}
	options := VerifierOptions{
		Audiences: f.Audiences,
		FindKey: func(place SignatureAgent, keyid string) (SigningKey, string) {
			agent, ok := f.agentAt(place.URL)
			if !ok {
				return SigningKey{}, "untrusted-agent"
			}
			if agent.Keyid != keyid {
				return SigningKey{}, "unknown-key"
			}
			return agent.key(t), ""
		},
		Nonces:   nonces,
		Naming:   Naming{f.ShortName, f.IDHeader},
		Now:      f.now,
		FindRoot: f.findRoot(t, lists),
	}
	if err := json.Unmarshal(policy, &options.Delegation); err != nil {
		t.Fatal(err)
	}
	verifier, err := NewRequestVerifier(options)
	if err != nil {
		t.Fatal(err)
	}
	return verifier
}

func readDelegationVectors(t *testing.T) (*delegationVectors, map[string]delegationCase) {
	var file delegationVectors
	readVectors(t, "delegation", &file)
	byName := map[string]delegationCase{}
	for _, each := range file.Valid {
		byName[each.Name] = each
	}
	return &file, byName
}

func TestValidDelegationVectors(t *testing.T) {
	file, _ := readDelegationVectors(t)
	for _, each := range file.Valid {
		verifier := file.verifier(t, each, nil)
		var hops []DelegationHop
		for _, hop := range each.Hops {
			hops = append(hops, hop.hop())
		}
		keyid := hops[len(hops)-1].KeyID
		want := &Delegation{Depth: len(hops), KeyID: keyid, Hops: hops}
		// The second time, its hops are known.
		for i := 0; i < 2; i++ {
			result := verifier.Verify(each.Request.raw())
			if result.Verdict != Verified || result.DID != each.DID || result.KeyID != keyid || !reflect.DeepEqual(result.Delegation, want) {
				t.Errorf("%s: %+v %+v", each.Name, result, result.Delegation)
			}
		}
	}
}

func TestInvalidDelegationVectors(t *testing.T) {
	file, byName := readDelegationVectors(t)
	cases := map[int]bool{}
	for _, each := range file.Invalid {
		store := NewMemoryNonceStore(MemoryNonceStoreOptions{Now: func() time.Time { return file.now().Add(-time.Hour) }})
		verifier := file.verifier(t, each, store)
		for _, name := range each.After {
			if result := verifier.Verify(byName[name].Request.raw()); result.Verdict != Verified {
				t.Errorf("%s, before %s: %+v", name, each.Name, result)
			}
		}
		result, fault := verifier.Verify(each.Request.raw()), ""
		if result.Delegation != nil {
			fault = result.Delegation.Fault
		}
		if result.Reason != each.Reason || fault != each.Fault || result.Verdict == Verified {
			t.Errorf("%s: %q %q instead of %q %q", each.Name, result.Reason, fault, each.Reason, each.Fault)
		}
		if each.Case != nil {
			cases[*each.Case] = true
		}
	}
	for number := 1; number <= 60; number++ {
		if !cases[number] {
			t.Error("no case", number)
		}
	}
}

func TestTheNoncesOfAllDelegatesAreInTheShareOfTheAgent(t *testing.T) {
	file, byName := readDelegationVectors(t)
	store := &recordedNonces{}
	for _, name := range []string{"one hop", "two hops"} {
		file.verifier(t, delegationCase{}, store).Verify(byName[name].Request.raw())
	}
	if len(store.nonces) != 2 || store.nonces[0].KeyID != file.Agents[0].Keyid || store.nonces[1].KeyID != file.Agents[0].Keyid {
		t.Error(store.nonces)
	}
	if store.nonces[0].Hash == store.nonces[1].Hash {
		t.Error("two delegates with one hash")
	}
}

func TestKeysOfChainsCostNoCheckOfTheirGroup(t *testing.T) {
	file, byName := readDelegationVectors(t)
	result := file.verifier(t, delegationCase{}, nil).Verify(byName["three hops"].Request.raw())
	if result.Verdict != Verified {
		t.Fatal(result)
	}
	for _, each := range result.Delegation.Hops {
		for key := range goodKeys.known {
			if KeyThumbprint(key[:]) == each.KeyID {
				t.Error("the group of a delegate's key was checked")
			}
		}
	}
}

func TestWhatALookupReturnsHasToBeWhatTheCertificateSays(t *testing.T) {
	file, byName := readDelegationVectors(t)
	stranger := file.Agents[1].key(t)
	mixed := stranger
	mixed.DID = file.Agents[0].DID
	for _, found := range []SigningKey{stranger, mixed} {
		verifier := file.verifier(t, delegationCase{}, nil)
		verifier.options.FindRoot = func(DelegationRoot) (SigningKey, string) { return found, "" }
		result := verifier.Verify(byName["one hop"].Request.raw())
		if result.Reason != "delegation-invalid" || result.Delegation.Fault != "root" {
			t.Error(result)
		}
	}
}

func TestDelegationOptionsOutOfRange(t *testing.T) {
	findKey := func(SignatureAgent, string) (SigningKey, string) { return SigningKey{}, "unknown-key" }
	findRoot := func(DelegationRoot) (SigningKey, string) { return SigningKey{}, "unknown-key" }
	for _, each := range []DelegationPolicy{{0, 60, false}, {4, 60, false}, {1, 0, false}, {1, 86_401, false}} {
		policy := each
		_, err := NewRequestVerifier(VerifierOptions{FindKey: findKey, Delegation: &policy, FindRoot: findRoot})
		if !errors.Is(err, &Error{Code: CodeInvalidArgument}) {
			t.Error(each, err)
		}
	}
	_, err := NewRequestVerifier(VerifierOptions{FindKey: findKey, Delegation: &DelegationPolicy{1, 60, false}})
	if !errors.Is(err, &Error{Code: CodeInvalidArgument}) {
		t.Error("Delegation without FindRoot", err)
	}
}
