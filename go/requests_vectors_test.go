package countersign

import (
	"strings"
	"testing"
	"time"
)

type vectorRequest struct {
	Method, Scheme, Authority, Target string
	Headers                           [][2]string
	Body                              vectorBody
	HasContent                        *bool
}

// A vectorBody is absent (not seen), null (no content) or a text.
type vectorBody struct {
	isSeen bool
	bytes  []byte
}

func (b *vectorBody) UnmarshalJSON(data []byte) error {
	b.isSeen, b.bytes = true, []byte{}
	value, err := parseJSON(data)
	if text, ok := value.(string); ok {
		b.bytes = []byte(text)
	}
	return err
}

func (r vectorRequest) raw() *RawRequest {
	raw := &RawRequest{Method: r.Method, Scheme: r.Scheme, Authority: r.Authority, Target: r.Target, HasContent: r.HasContent}
	for _, each := range r.Headers {
		raw.Headers = append(raw.Headers, HeaderField{each[0], each[1]})
	}
	if r.Body.isSeen {
		raw.Body = r.Body.bytes
	}
	return raw
}

type requestCase struct {
	Name               string
	Request            vectorRequest
	Reason             string
	Audiences          []string
	Now                int64
	AllowTestKeys      bool
	Profile            string
	MaxLifetimeSeconds int64
	Key                string
	Base               string
	Digest, Replay     string
	After              []string
}

type requestVectors struct {
	ShortName, IDHeader, Issuer string
	Now                         int64
	Audiences                   []string
	Keys                        map[string]struct{ PublicKeyHex, Keyid, DID, Status, SignatureAgent string }
	Valid, Invalid              []requestCase
	SignatureAgents             struct {
		Valid, Ignored, Invalid []struct{ Name, Field, Type, URL string }
	}
}

func (f *requestVectors) findKey(t *testing.T) KeyLookup {
	return func(agent SignatureAgent, keyid string) (SigningKey, string) {
		isKnown := strings.HasPrefix(agent.URL, f.Issuer+"/agent/")
		for _, each := range f.Keys {
			if each.Keyid == keyid && each.SignatureAgent == agent.URL {
				return SigningKey{PublicKey: unhex(t, each.PublicKeyHex), DID: each.DID, Status: each.Status}, ""
			}
			isKnown = isKnown || each.SignatureAgent == agent.URL
		}
		if isKnown {
			return SigningKey{}, "unknown-key"
		}
		return SigningKey{}, "untrusted-agent"
	}
}

func (f *requestVectors) verifier(t *testing.T, each requestCase) *RequestVerifier {
	t.Helper()
	audiences, now := f.Audiences, f.Now
	if each.Audiences != nil {
		audiences = each.Audiences
	}
	if each.Now != 0 {
		now = each.Now
	}
	at := time.UnixMilli(now)
	options := VerifierOptions{
		Audiences:     audiences,
		FindKey:       f.findKey(t),
		Nonces:        NewMemoryNonceStore(MemoryNonceStoreOptions{Now: func() time.Time { return at.Add(-time.Hour) }}),
		Naming:        Naming{f.ShortName, f.IDHeader},
		Now:           func() time.Time { return at },
		AllowTestKeys: each.AllowTestKeys,
	}
	if each.Profile != "" {
		options.RulesOf = func(SignatureAgent) *SignatureRules {
			return &SignatureRules{each.Profile, each.MaxLifetimeSeconds}
		}
	}
	verifier, err := NewRequestVerifier(options)
	if err != nil {
		t.Fatal(err)
	}
	return verifier
}

func TestRequestVectors(t *testing.T) {
	var file requestVectors
	readVectors(t, "http-signatures", &file)
	byName := map[string]requestCase{}
	for _, each := range file.Valid {
		byName[each.Name] = each
	}
	for _, each := range append(file.Valid, file.Invalid...) {
		verifier := file.verifier(t, each)
		for _, name := range each.After {
			if result := verifier.Verify(byName[name].Request.raw()); result.Verdict != Verified {
				t.Errorf("%s, before %s: %+v", name, each.Name, result)
			}
		}
		result := verifier.Verify(each.Request.raw())
		if result.Reason != each.Reason || (result.Verdict == Verified) != (each.Reason == "") {
			t.Errorf("%s: %q instead of %q", each.Name, result.Reason, each.Reason)
		}
		if each.Reason != "" {
			continue
		}
		key, profile, replay := "agent", "strict", "checked"
		for _, override := range []struct {
			to   *string
			from string
		}{{&key, each.Key}, {&profile, each.Profile}, {&replay, each.Replay}} {
			if override.from != "" {
				*override.to = override.from
			}
		}
		if result.DID != file.Keys[key].DID || result.Profile != profile || result.Replay != replay || result.Digest != each.Digest {
			t.Errorf("%s: %+v", each.Name, result)
		}
	}
}

func TestSignatureBaseVectors(t *testing.T) {
	var file requestVectors
	readVectors(t, "http-signatures", &file)
	for _, each := range file.Valid {
		request := each.Request.raw()
		fields := fieldsOf(request.Headers)
		input, reason := readSignature(fields, singletonHeaders(file.IDHeader))
		authority, _ := readAuthority(request, fields)
		path, query, _ := readPath(request.Target)
		parts := signedParts{request.Method, request.Scheme + "://" + authority, path, query, fields, request.hasContent(fields)}
		base, err := signatureBase(parts, input.components, input.params)
		if reason != "" || err != nil || base != each.Base {
			t.Errorf("%s: %s %v\n%s", each.Name, reason, err, base)
		}
	}
}

func TestSignatureAgentVectors(t *testing.T) {
	var file requestVectors
	readVectors(t, "http-signatures", &file)
	types := map[string]string{"origin": "directory", "ucp": "jwks_uri", "cimd": "cimd"}
	covered := component{name: "signature-agent", key: "sig1", hasKey: true}
	for _, each := range file.SignatureAgents.Valid {
		agent, err := parseSignatureAgent(each.Field, covered)
		if err != nil || agent == nil || types[agent.Dialect] != each.Type || agent.URL != each.URL {
			t.Errorf("%s: %+v %v", each.Name, agent, err)
		}
	}
	for _, each := range file.SignatureAgents.Ignored {
		if agent, err := parseSignatureAgent(each.Field, covered); err != nil || agent != nil {
			t.Errorf("%s: %+v %v", each.Name, agent, err)
		}
	}
	for _, each := range file.SignatureAgents.Invalid {
		if agent, err := parseSignatureAgent(each.Field, covered); err == nil {
			t.Errorf("%s: %+v", each.Name, agent)
		}
	}
}
