package countersign

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestClaimVectors(t *testing.T) {
	var file struct {
		Claims []struct {
			Name, SeedHex, PublicKey, ClaimToken, AgentID, Signature string
			AgentIDTimes                                             int
		}
	}
	readVectors(t, "signed-bytes", &file)
	service := newFakeService(t)
	registry, _ := NewRegistry(service.URL, RegistryOptions{})
	for _, each := range file.Claims {
		key, _ := KeyFromSeed(unhex(t, each.SeedHex))
		agent, _ := NewAgent(registry, key, AgentOptions{})
		label := repeated(each.AgentID, each.AgentIDTimes)
		did, err := agent.Claim(context.Background(), each.ClaimToken, label)
		if strings.HasPrefix(each.ClaimToken, "svc-") != (err == nil) {
			t.Error(each.Name, err)
			continue
		}
		if err != nil {
			continue
		}
		sent := service.claims[len(service.claims)-1]
		if did != testDID || sent["publicKey"] != each.PublicKey || sent["signature"] != each.Signature || sent["agentId"] != label {
			t.Error(each.Name, sent)
		}
	}
}

func TestClaimTokenVectors(t *testing.T) {
	var file struct {
		Valid, Invalid []struct{ Name, Token, Text, ShortName string }
	}
	readVectors(t, "claim-token", &file)
	service := newFakeService(t)
	claim := func(naming Naming, token string) error {
		registry, err := NewRegistry(service.URL, RegistryOptions{Naming: naming})
		if err != nil {
			t.Fatal(err)
		}
		key, _ := GenerateKey()
		agent, _ := NewAgent(registry, key, AgentOptions{})
		_, err = agent.Claim(context.Background(), token, "main")
		return err
	}
	for _, each := range file.Valid {
		// The fake service answers with the member of the default names.
		if err := claim(Naming{ShortName: each.ShortName}, each.Token); errors.Is(err, &Error{Code: CodeInvalidArgument}) {
			t.Error(each.Name, err)
		}
	}
	for _, each := range file.Invalid {
		if err := claim(Naming{ShortName: each.ShortName}, each.Token+each.Text); !errors.Is(err, &Error{Code: CodeInvalidArgument}) {
			t.Error(each.Name, err)
		}
	}
}

func TestAClaimOfACertifiedKeyReturnsItsDID(t *testing.T) {
	service := newFakeService(t)
	registry, _ := NewRegistry(service.URL, RegistryOptions{})
	agent, _ := NewAgent(registry, service.key, AgentOptions{})
	did, err := agent.Claim(context.Background(), "", "main")
	if err != nil || did != testDID || agent.DID() != testDID || len(service.claims) != 0 {
		t.Error(did, err)
	}
}

func TestAClaimWithoutAResponseHasAnUnknownOutcome(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if request.Method == "POST" {
			panic(http.ErrAbortHandler)
		}
		response.WriteHeader(404)
		_, _ = response.Write([]byte(`{"error":{"code":"NOT_FOUND","message":"none","requestId":"req_7"}}`))
	}))
	defer server.Close()
	registry, _ := NewRegistry(server.URL, RegistryOptions{})
	key, _ := GenerateKey()
	agent, _ := NewAgent(registry, key, AgentOptions{})
	_, err := agent.Claim(context.Background(), "svc-verify-"+strings.Repeat("0", 32), "main")
	if !errors.Is(err, &Error{Code: CodeOutcomeUnknown}) {
		t.Error(err)
	}
	_, err = registry.Lookup(context.Background(), testDID)
	if found := (&Error{}); !errors.As(err, &found) || found.Code != "NOT_FOUND" || found.Status != 404 || found.RequestID != "req_7" {
		t.Error(err)
	}
}

func TestTheServiceRedirectsNobody(t *testing.T) {
	service := newFakeService(t)
	registry, _ := NewRegistry(service.URL, RegistryOptions{})
	if _, err := registry.call(context.Background(), "GET", "/moved", nil); !errors.Is(err, &Error{Code: CodeProtocol}) {
		t.Error(err)
	}
}

func TestTheTransportSignsForAudiencesOnly(t *testing.T) {
	site := newSite(t, requireProof, nil)
	registry, _ := NewRegistry(site.service.URL, RegistryOptions{})
	// Without a DID: the transport asks once.
	agent, _ := NewAgent(registry, site.service.key, AgentOptions{Audiences: []string{site.URL}})
	response, err := agent.Client().Get(site.URL + "/orders?page=1")
	if err != nil || response.StatusCode != 200 {
		t.Fatal(response, err)
	}
	var strangers []http.Header
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		strangers = append(strangers, request.Header)
	}))
	defer stranger.Close()
	if _, err := agent.Client().Get(stranger.URL); !errors.Is(err, &Error{Code: CodeWrongAudience}) || len(strangers) != 0 {
		t.Error(err)
	}
	plain := &http.Client{Transport: &Transport{Agent: agent, Unlisted: UnlistedPlain}}
	request, _ := http.NewRequest("GET", stranger.URL, nil)
	request.Header.Set("serviceid", testDID)
	if _, err := plain.Do(request); err != nil || len(strangers) != 1 {
		t.Fatal(err)
	}
	for _, name := range []string{"Signature", "Signature-Input", "Signature-Agent", "ServiceID"} {
		if strangers[0].Get(name) != "" {
			t.Error(name)
		}
	}
	request, _ = http.NewRequest("GET", site.URL, nil)
	request.Host = "shop.example"
	if _, err := agent.Client().Do(request); !errors.Is(err, &Error{Code: CodeInvalidArgument}) {
		t.Error("another Host", err)
	}
}

func TestARedirectToAStrangerCarriesNoSignature(t *testing.T) {
	site := newSite(t, requireProof, nil)
	var seen http.Header
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) { seen = request.Header }))
	defer stranger.Close()
	site.Config.Handler = site.gate.Middleware(http.RedirectHandler(stranger.URL, http.StatusTemporaryRedirect))
	agent := site.agent(t, site.service.key)
	client := &http.Client{Transport: &Transport{Agent: agent, Unlisted: UnlistedPlain}}
	response, err := client.Post(site.URL, "text/plain", strings.NewReader("x"))
	if err != nil || response.StatusCode != 200 || seen == nil {
		t.Fatal(response, err)
	}
	for _, name := range []string{"Signature", "Signature-Input", "Signature-Agent", "ServiceID"} {
		if seen.Get(name) != "" {
			t.Error(name)
		}
	}
}

func TestRequestsThatCannotBeSigned(t *testing.T) {
	agent := testAgent(t, testSeed, Naming{}, AgentOptions{DID: testDID, Audiences: []string{"https://shop.example"}})
	for _, url := range []string{
		"https://shop.example", "https://shop.example/a/../b", "https://shop.example/ä", "https://SHOP.example/", "https://shop.example:443/",
		"https://user@shop.example/", "ftp://shop.example/", "https://shop.example/a b",
	} {
		if _, err := agent.SignRequest(RequestToSign{Method: "GET", URL: url}); !errors.Is(err, &Error{Code: CodeInvalidArgument}) {
			t.Error(url, err)
		}
	}
	for _, url := range []string{"https://shop.example.evil.example/", "http://shop.example/", "https://shop.example:444/"} {
		if _, err := agent.SignRequest(RequestToSign{Method: "GET", URL: url}); !errors.Is(err, &Error{Code: CodeWrongAudience}) {
			t.Error(url, err)
		}
	}
	twice := []HeaderField{{"Content-Type", "a/b"}, {"content-type", "c/d"}}
	if _, err := agent.SignRequest(RequestToSign{Method: "GET", URL: "https://shop.example/", Headers: twice}); !errors.Is(err, &Error{Code: CodeInvalidArgument}) {
		t.Error(err)
	}
	nobody := testAgent(t, testSeed, Naming{}, AgentOptions{Audiences: []string{"https://shop.example"}})
	if _, err := nobody.SignRequest(RequestToSign{Method: "GET", URL: "https://shop.example/"}); !errors.Is(err, &Error{Code: CodeNoDID}) {
		t.Error(err)
	}
}

func TestAudiencesOfAnAgentAreSecure(t *testing.T) {
	registry, _ := NewRegistry("https://id.example", RegistryOptions{})
	key, _ := GenerateKey()
	for _, audience := range []string{"http://shop.example", "https://shop.example/path", "https://Shop.example", "shop.example", ""} {
		if _, err := NewAgent(registry, key, AgentOptions{Audiences: []string{audience}}); !errors.Is(err, &Error{Code: CodeInvalidArgument}) {
			t.Error(audience, err)
		}
	}
	if _, err := NewAgent(registry, key, AgentOptions{Audiences: []string{"http://localhost:3000/"}}); err != nil {
		t.Error(err)
	}
	if _, err := NewAgent(registry, key, AgentOptions{DID: "acme:agent:7Xk2mPqR9sTvWyZaBcDeFgHj"}); err == nil {
		t.Error("a DID of another service")
	}
}

func TestKeyFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "agent.pem")
	if _, err := KeyFromFile(path); !errors.Is(err, &Error{Code: CodeNoKey}) {
		t.Error(err)
	}
	key, err := LoadOrCreateKey(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := LoadOrCreateKey(path)
	if err != nil || again.PublicKey() != key.PublicKey() {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if err := key.WriteFile(path); !errors.Is(err, &Error{Code: CodeKeyExists}) {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Error("a draft stays", entries)
	}
	for _, text := range []string{"", "x", "{}", `{"kty":"OKP","crv":"Ed25519","x":"AA","d":"` + strings.Repeat("A", 43) + `"}`, "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----"} {
		if _, err := ParseKey(text); !errors.Is(err, &Error{Code: CodeUnusableKey}) {
			t.Errorf("%q: %v", text, err)
		}
	}
	jwk := `{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}`
	if parsed, err := ParseKey(jwk); err != nil || parsed.Thumbprint() != "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k" {
		t.Error(err)
	}
}
