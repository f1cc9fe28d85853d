package countersign

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

const requireProof = `{"requireProof": true}`

func TestASignedRequestIsAdmittedOnce(t *testing.T) {
	site := newSite(t, requireProof, nil)
	request := site.signed(t, "POST", "/orders?draft=1", `{"item":1}`)
	request.Header.Set("X-ServiceID-Proof", "forged")
	request.Header.Set("X_ServiceID_DID", "svc:agent:forged")
	request.Header["x.serviceid.verified"] = []string{"true"}
	request.Header.Set("Connection", "X-ServiceID-DID, keep-alive")
	again := request.Clone(request.Context())
	again.Body, _ = request.GetBody()
	status, headers, _ := site.send(t, request)
	if status != 200 || !strings.Contains(headers.Get("Vary"), "ServiceID, Signature") {
		t.Fatal(status, headers)
	}
	seen, body := site.last()
	if body != `{"item":1}` {
		t.Error(body)
	}
	for name, value := range map[string]string{
		"Decision": "allow", "Verified": "true", "Proof": "signature", "DID": testDID, "Status": "active",
		"Identity-Level": "in-person", "Issuer": site.service.URL, "Content-Digest": contentDigest([]byte(body)),
	} {
		if got := seen.Header.Values("X-ServiceID-" + name); !reflect.DeepEqual(got, []string{value}) {
			t.Error(name, got)
		}
	}
	for name := range seen.Header {
		if strings.Contains(strings.ToLower(name), "_serviceid") || strings.Contains(name, ".serviceid") {
			t.Error(name)
		}
	}
	if strings.Contains(seen.Header.Get("Connection"), "ServiceID") {
		t.Error(seen.Header.Get("Connection"))
	}
	if decision := DecisionOf(seen); !decision.Proven() || decision.DID != testDID || decision.Signature.Digest != "checked" {
		t.Error(decision)
	}
	if status, _, reasons := site.send(t, again); status != 401 || reasons[0] != "signature-invalid" {
		t.Error("a replay", status, reasons)
	}
}

func TestAlteredRequestsAreRefused(t *testing.T) {
	site := newSite(t, requireProof, nil)
	alter := map[string]func(*http.Request){
		"another path":      func(r *http.Request) { r.URL.Path = "/other" },
		"an encoded letter": func(r *http.Request) { r.URL.Opaque = "//" + r.URL.Host + "/%6frders?a=b" },
		"another query":     func(r *http.Request) { r.URL.RawQuery = "a=c" },
		"no query":          func(r *http.Request) { r.URL.RawQuery = "" },
		"another method":    func(r *http.Request) { r.Method = "PUT" },
		"another Host":      func(r *http.Request) { r.Host = "shop.example" },
		"another agent":     func(r *http.Request) { r.Header.Set("ServiceID", "8Xk2mPqR9sTvWyZaBcDeFgHj") },
		"two agents":        func(r *http.Request) { r.Header.Add("ServiceID", testDID) },
		"a header more":     func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") },
		"another digest":    func(r *http.Request) { r.Header.Set("Content-Digest", contentDigest([]byte("2"))) },
	}
	for name, change := range alter {
		request := site.signed(t, "POST", "/orders?a=b", "1")
		change(request)
		if status, _, _ := site.send(t, request); status != 401 && status != 400 {
			t.Error(name, status)
		}
	}
	body := site.signed(t, "POST", "/orders", "1")
	body.Body = http.NoBody
	body.ContentLength = 0
	if status, _, _ := site.send(t, body); status != 401 {
		t.Error("another body", status)
	}
	if seen, _ := site.last(); seen != nil {
		t.Error("the handler has seen", seen.URL)
	}
}

func TestWhatStandsBeforeTheGateSeesTheRequestAsItCame(t *testing.T) {
	site := newSite(t, requireProof, nil)
	inner := site.Config.Handler
	var forged string
	site.Config.Handler = http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		inner.ServeHTTP(response, request)
		forged = request.Header.Get("X-ServiceID-Proof")
	})
	request := site.signed(t, "GET", "/", "")
	request.Header.Set("X-ServiceID-Proof", "forged")
	if status, _, _ := site.send(t, request); status != 200 || forged != "forged" {
		t.Error(status, forged)
	}
}

func TestTheHeaderAloneProvesNothing(t *testing.T) {
	site := newSite(t, requireProof, nil)
	request := site.request(t, "GET", "/", "")
	request.Header.Set("ServiceID", testDID)
	status, headers, reasons := site.send(t, request)
	if status != 401 || reasons[0] != "proof-required" {
		t.Error(status, reasons)
	}
	if headers.Get("WWW-Authenticate") != "ServiceID" || !strings.Contains(headers.Get("Accept-Signature"), `tag="web-bot-auth"`) {
		t.Error(headers)
	}
	if status, _, reasons := site.send(t, site.request(t, "GET", "/", "")); status != 401 || reasons[0] != "no-identification" {
		t.Error(status, reasons)
	}
	lenient := newSite(t, "", nil)
	named := lenient.request(t, "GET", "/", "")
	named.Header.Set("ServiceID", testDID)
	if status, _, _ := lenient.send(t, named); status != 200 {
		t.Error(status)
	}
	if seen, _ := lenient.last(); seen.Header.Get("X-ServiceID-Proof") != "none" || DecisionOf(seen).Proven() {
		t.Error(seen.Header)
	}
}

func TestRulesOfThePolicy(t *testing.T) {
	for name, each := range map[string]struct {
		policy string
		status string
		method string
		want   int
		reason string
	}{
		"verified":       {requireProof, "active", "in-person", 200, ""},
		"suspended":      {requireProof, "suspended", "in-person", 403, "status-refused"},
		"revoked":        {requireProof, "revoked", "in-person", 403, "status-refused"},
		"on a deny list": {`{"deny": ["7Xk2mPqR9sTvWyZaBcDeFgHj"]}`, "active", "in-person", 403, "deny-list"},
		"unverified":     {`{"levels": {"unverified": "deny"}}`, "active", "", 403, "owner-unverified"},
		"allowed":        {`{"levels": {"unverified": "deny"}, "allow": ["7Xk2mPqR9sTvWyZaBcDeFgHj"]}`, "active", "", 200, ""},
		"another method": {`{"levels": {"unverified": "deny"}, "identityMethods": ["bankid"]}`, "active", "in-person", 403, "provider-not-accepted"},
		"young":          {`{"minimumKeyAgeSeconds": 2592000}`, "active", "in-person", 200, ""},
		"hidden":         {`{"refusal": {"status": 404}, "deny": ["7Xk2mPqR9sTvWyZaBcDeFgHj"]}`, "active", "in-person", 404, ""},
		"every path":     {`{"routes": [{"path": "/*", "levels": {"verified": "deny"}}]}`, "active", "in-person", 403, "owner-verified"},
		"a route":        {`{"routes": [{"path": "/orders", "levels": {"verified": "deny"}}]}`, "active", "in-person", 403, "owner-verified"},
		"shadow":         {`{"mode": "shadow", "deny": ["7Xk2mPqR9sTvWyZaBcDeFgHj"]}`, "active", "in-person", 200, ""},
	} {
		site := newSite(t, each.policy, nil)
		site.service.change(func() {
			site.service.status = each.status
			if site.service.method = &each.method; each.method == "" {
				site.service.method = nil
			}
		})
		status, _, reasons := site.send(t, site.signed(t, "GET", "/orders", ""))
		if status != each.want || (each.reason != "" && reasons[0] != each.reason) {
			t.Error(name, status, reasons)
		}
	}
}

func TestARefusalUsesNoNonceUp(t *testing.T) {
	site := newSite(t, `{"requireProof": true, "cacheSeconds": 0}`, nil)
	site.service.change(func() { site.service.status = "suspended" })
	request := site.signed(t, "GET", "/", "")
	if status, _, _ := site.send(t, request); status != 403 {
		t.Fatal(status)
	}
	site.service.change(func() { site.service.status = "active" })
	if status, _, _ := site.send(t, request); status != 200 {
		t.Error(status)
	}
}

func TestAnUnreachableServiceAdmitsNobody(t *testing.T) {
	site := newSite(t, requireProof, nil)
	site.service.change(func() { site.service.down = true })
	status, headers, _ := site.send(t, site.signed(t, "GET", "/", ""))
	if status != 503 || headers.Get("Retry-After") == "" {
		t.Error(status, headers)
	}
	calls := site.service.calls
	if status, _, _ := site.send(t, site.signed(t, "GET", "/", "")); status != 503 || site.service.calls != calls {
		t.Error("the service is asked again at once", site.service.calls-calls)
	}
}

func TestAnUnverifiedAgentIsLimited(t *testing.T) {
	site := newSite(t, `{"limit": {"requests": 2, "seconds": 3600}}`, nil)
	site.service.change(func() { site.service.method = nil })
	var statuses []int
	for i := 0; i < 3; i++ {
		status, _, _ := site.send(t, site.signed(t, "GET", "/", ""))
		statuses = append(statuses, status)
	}
	if !reflect.DeepEqual(statuses, []int{200, 200, 429}) {
		t.Error(statuses)
	}
}

func TestAfterARestartTheSiteAsksForItsNonce(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	store := NewMemoryNonceStore(MemoryNonceStoreOptions{Now: clock})
	site := newSite(t, requireProof, func(options *GateOptions) { options.now, options.Nonces = clock, store })
	status, headers, reasons := site.send(t, site.signed(t, "POST", "/orders", "1"))
	if status != 503 || reasons[0] != "replay-unchecked" {
		t.Fatal(status, reasons)
	}
	if headers.Get("Retry-After") == "" || ChallengeNonce(status, headers.Get("Accept-Signature")) == "" {
		t.Error(headers)
	}
	if status, _, _ := site.send(t, site.signed(t, "GET", "/orders", "")); status != 200 {
		t.Error("a request that changes no state", status)
	}
	client := site.agent(t, site.service.key).Client()
	response, err := client.Post(site.URL+"/orders", "application/json", strings.NewReader("{}"))
	if err != nil || response.StatusCode != 200 {
		t.Error(response, err)
	}
	if _, body := site.last(); body != "{}" {
		t.Error(body)
	}
}

func TestABodyThatIsTooLargeToCompareFirst(t *testing.T) {
	site := newSite(t, requireProof, nil)
	large := strings.Repeat("x", maxBodyBytes+10)
	if status, _, _ := site.send(t, site.signed(t, "POST", "/", large)); status != 200 {
		t.Error(status)
	}
	other := site.signed(t, "POST", "/", large)
	other.Body = http.NoBody
	other.Body = readCloser{strings.NewReader(large[1:] + "y")}
	if status, _, _ := site.send(t, other); status != http.StatusTeapot {
		t.Error("the handler reads another body to its end", status)
	}
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

func TestABodyWithoutALengthIsCompared(t *testing.T) {
	site := newSite(t, requireProof, nil)
	request := site.signed(t, "GET", "/", "")
	request.Body, request.ContentLength = readCloser{strings.NewReader("more")}, -1
	if status, _, _ := site.send(t, request); status != 401 {
		t.Error(status)
	}
}

// rawAnswer sends lines as they are, and returns the status.
func (s *site) rawAnswer(t *testing.T, lines string) int {
	t.Helper()
	connection, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprint(connection, strings.ReplaceAll(lines, "\n", "\r\n"))
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

func TestTheTargetCountsAsItWasSent(t *testing.T) {
	site := newSite(t, requireProof, nil)
	host := site.Listener.Addr().String()
	lines := func(target, path string) string {
		request := site.signed(t, "GET", path, "")
		out := "GET " + target + " HTTP/1.1\nHost: " + host + "\nConnection: close\n"
		for name, values := range request.Header {
			out += name + ": " + values[0] + "\n"
		}
		return out + "\n"
	}
	for target, want := range map[string]int{
		"/a%2Fb":                    200,
		"/a/b":                      401,
		"/a%2fb":                    401,
		"/x/../a%2Fb":               400,
		"/./a%2Fb":                  400,
		"http://" + host + "/a%2Fb": 200,
		"http://evil.example/a%2Fb": 401,
		"/a%2Fb?":                   401,
		"//a%2Fb":                   401,
	} {
		if status := site.rawAnswer(t, lines(target, "/a%2Fb")); status != want {
			t.Errorf("%s: %d instead of %d", target, status, want)
		}
	}
	twice := strings.Replace(lines("/", "/"), "Connection: close\n", "Connection: close\nHost: evil.example\n", 1)
	if status := site.rawAnswer(t, twice); status != 400 {
		t.Error("two Host fields", status)
	}
}

func TestMistakesStopAGate(t *testing.T) {
	for policy, mistake := range map[string]string{
		`{`:                     "policy must be JSON",
		`{"requireprof": true}`: "policy.requireprof is unknown",
		`{"requireProof": true, "requireProof": false}`: "policy.requireProof is repeated",
		`{"offline": {}}`:                                    "policy.offline is not supported by this package",
		`{"trust": ["https://id.example"]}`:                  "policy.trust is not supported by this package",
		`{"requireLogged": {"policy": ""}}`:                  "policy.requireLogged is not supported by this package",
		`{"routes": [{"path": "/pay", "approval": {}}]}`:     "policy.routes[0].approval is not supported by this package",
		`{"directories": [{"url": "https://bots.example"}]}`: "policy.directories is not supported by this package",
		`{"routes": [{"path": "/caf%C3%A9"}]}`:               "policy.routes[0].path with letters beyond ASCII is not supported by this package",
	} {
		_, err := NewGate("https://id.example", GateOptions{Policy: []byte(policy), Audiences: []string{"https://shop.example"}})
		if found, ok := err.(*PolicyError); !ok || !reflect.DeepEqual(found.Mistakes, []string{mistake}) {
			t.Errorf("%s: %v", policy, err)
		}
	}
	if _, err := NewGate("https://id.example", GateOptions{Policy: []byte(requireProof)}); err == nil {
		t.Error("proof is required and nobody can prove anything")
	}
	if _, err := NewGate("https://id.example/", GateOptions{Audiences: []string{"https://shop.example/"}}); err == nil {
		t.Error("an audience is an origin")
	}
}
