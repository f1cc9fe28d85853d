package countersign

import (
	"errors"
	"strings"
	"testing"
)

func repeated(text string, times int) string {
	if times == 0 {
		return text
	}
	return strings.Repeat(text, times)
}

func testAgent(t *testing.T, seedHex string, naming Naming, options AgentOptions) *Agent {
	t.Helper()
	key, err := KeyFromSeed(unhex(t, seedHex))
	if err != nil {
		t.Fatal(err)
	}
	registry, err := NewRegistry("https://id.example", RegistryOptions{Naming: naming})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := NewAgent(registry, key, options)
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

const testSeed = "0101010101010101010101010101010101010101010101010101010101010101"

func TestNamingVectors(t *testing.T) {
	var file struct {
		Valid []struct {
			Name, ShortName, IDHeader, DIDPrefix, DIDField, TokenPrefix, ChallengePrefix string
			ForwardedHeaders                                                             map[string]string
			TokenHeaders                                                                 struct{ Certificate, Status string }
		}
		InvalidShortNames []struct{ Name, ShortName string }
		InvalidIDHeaders  []struct{ Name, IDHeader string }
	}
	readVectors(t, "naming", &file)
	headers := map[string]string{
		"decision": "Decision", "verified": "Verified", "proof": "Proof", "did": "DID", "status": "Status",
		"identityLevel": "Identity-Level", "contentDigest": "Content-Digest", "issuer": "Issuer",
	}
	for _, each := range file.Valid {
		naming, err := Naming{each.ShortName, each.IDHeader}.withDefaults()
		if err != nil || naming.didPrefix() != each.DIDPrefix || naming.didField() != each.DIDField ||
			naming.claimTokenPrefix() != each.TokenPrefix || naming.challengePrefix() != each.ChallengePrefix {
			t.Error(each.Name, err)
		}
		for member, name := range headers {
			if naming.forwardedHeader(name) != each.ForwardedHeaders[member] {
				t.Error(each.Name, member)
			}
		}
		own := agentHeaders(naming.IDHeader)
		if own[1] != strings.ToLower(each.TokenHeaders.Certificate) || own[2] != strings.ToLower(each.TokenHeaders.Status) {
			t.Error(each.Name, own)
		}
	}
	for _, each := range file.InvalidShortNames {
		// The empty name is the default one.
		if _, err := (Naming{ShortName: each.ShortName}).withDefaults(); err == nil && each.ShortName != "" {
			t.Error(each.Name)
		}
	}
	for _, each := range file.InvalidIDHeaders {
		if _, err := (Naming{IDHeader: each.IDHeader}).withDefaults(); err == nil && each.IDHeader != "" {
			t.Error(each.Name)
		}
	}
}

func TestDIDVectors(t *testing.T) {
	var file struct {
		DID []struct{ ShortName, Tail, DID string }
	}
	readVectors(t, "did", &file)
	for _, each := range file.DID {
		naming := Naming{ShortName: each.ShortName}
		tail, ok := naming.tailOf(each.DID)
		if naming.didOf(each.Tail) != each.DID || !ok || tail != each.Tail {
			t.Error(each.DID)
		}
	}
}

func TestIdentificationHeaderVectors(t *testing.T) {
	var file struct {
		ShortName      string
		Valid, Invalid []struct{ Name, Value, Tail string }
	}
	readVectors(t, "identification-header", &file)
	naming := Naming{ShortName: file.ShortName}
	for _, each := range file.Valid {
		if tail, ok := naming.tailOf(each.Value); !ok || tail != each.Tail {
			t.Error(each.Name)
		}
	}
	for _, each := range file.Invalid {
		if _, ok := naming.tailOf(each.Value); ok {
			t.Error(each.Name)
		}
	}
}

func TestChallengeVectors(t *testing.T) {
	var file struct {
		Valid, Invalid []struct {
			Name, Text string
			Times      int
		}
	}
	readVectors(t, "challenge", &file)
	agent := testAgent(t, testSeed, Naming{}, AgentOptions{})
	for _, each := range file.Valid {
		text := repeated(each.Text, each.Times)
		_, err := agent.AnswerUnbound(text)
		// A signer refuses some texts that a verifier accepts.
		if err != nil && foreignTextCode(text) == "" {
			t.Error(each.Name, err)
		}
	}
	for _, each := range file.Invalid {
		if !isWellFormed(each.Text) {
			continue
		}
		if _, err := agent.AnswerUnbound(repeated(each.Text, each.Times)); err == nil {
			t.Error(each.Name)
		}
	}
}

func TestForeignTextVectors(t *testing.T) {
	var file struct {
		Cases []struct{ Name, Text, Kind, Signer string }
	}
	readVectors(t, "foreign-texts", &file)
	agent := testAgent(t, testSeed, Naming{}, AgentOptions{})
	for _, each := range file.Cases {
		_, err := agent.AnswerUnbound(each.Text)
		code := CodeNotAChallenge
		if each.Kind == "claim" {
			code = CodeLooksLikeAClaim
		}
		if each.Signer == "signed" && err != nil || each.Signer != "signed" && !errors.Is(err, &Error{Code: code}) {
			t.Error(each.Name, each.Signer, err)
		}
	}
}

func TestNamedChallengeVectors(t *testing.T) {
	var file struct {
		Valid, Invalid []struct{ Name, ShortName, Audience, Nonce, Text string }
	}
	readVectors(t, "named-challenge", &file)
	for _, each := range file.Valid {
		naming, _ := Naming{ShortName: each.ShortName}.withDefaults()
		audience, nonce, ok := naming.parseChallenge(each.Text)
		if !ok || audience != each.Audience || nonce != each.Nonce {
			t.Error(each.Name)
		}
		agent := testAgent(t, testSeed, naming, AgentOptions{})
		if _, err := agent.Answer(each.Text, each.Audience); err != nil {
			t.Error(each.Name, err)
		}
		if _, err := agent.Answer(each.Text, "https://other.example"); !errors.Is(err, &Error{Code: CodeWrongAudience}) {
			t.Error(each.Name, err)
		}
		if _, err := agent.AnswerUnbound(each.Text); !errors.Is(err, &Error{Code: CodeWrongAudience}) {
			t.Error(each.Name, err)
		}
	}
	for _, each := range file.Invalid {
		naming, _ := Naming{ShortName: each.ShortName}.withDefaults()
		if _, _, ok := naming.parseChallenge(each.Text); ok {
			t.Error(each.Name)
		}
	}
}

func TestSignedBytesVectors(t *testing.T) {
	var file struct {
		Challenges []struct {
			Name, SeedHex, PublicKey, Challenge, Signature string
			ChallengeTimes                                 int
		}
	}
	readVectors(t, "signed-bytes", &file)
	for _, each := range file.Challenges {
		agent := testAgent(t, each.SeedHex, Naming{}, AgentOptions{})
		challenge := repeated(each.Challenge, each.ChallengeTimes)
		answer, err := agent.AnswerUnbound(challenge)
		if strings.Contains(challenge, "\n") {
			// Verifiers accept it.
			if err == nil {
				t.Error(each.Name)
			}
			continue
		}
		if err != nil || answer.PublicKey != each.PublicKey || answer.Signature != each.Signature {
			t.Error(each.Name, err)
		}
	}
}

func TestNonceOfAResponseVectors(t *testing.T) {
	var file struct {
		Responses []struct {
			Name, AcceptSignature, Nonce string
			Status                       int
		}
	}
	readVectors(t, "nonce-stores", &file)
	for _, each := range file.Responses {
		if nonce := ChallengeNonce(each.Status, each.AcceptSignature); nonce != each.Nonce {
			t.Error(each.Name, nonce)
		}
	}
}
