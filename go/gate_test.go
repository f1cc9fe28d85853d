package countersign

import (
	"errors"
	"net/http"
	"sync"
	"testing"
)

func TestAnAnswerOfAStaleCacheIsNotBelieved(t *testing.T) {
	site := newSite(t, `{"requireProof": true, "cacheSeconds": 0}`, nil)
	site.service.change(func() { site.service.sequence = 2 })
	if status, _, _ := site.send(t, site.signed(t, "GET", "/", "")); status != 200 {
		t.Fatal(status)
	}
	site.service.change(func() { site.service.sequence = 1 })
	if status, _, reasons := site.send(t, site.signed(t, "GET", "/", "")); status != 503 {
		t.Error(status, reasons)
	}
}

func TestANewKeyIsAskedForOnce(t *testing.T) {
	site := newSite(t, requireProof, nil)
	if status, _, _ := site.send(t, site.signed(t, "GET", "/", "")); status != 200 {
		t.Fatal(status)
	}
	former := site.service.key
	next, _ := GenerateKey()
	site.service.change(func() { site.service.key, site.service.sequence = next, 2 })
	if status, _, _ := site.send(t, site.signed(t, "GET", "/", "")); status != 200 {
		t.Error("the new key", status)
	}
	calls := site.service.calls
	stranger, _ := GenerateKey()
	for _, key := range []*AgentKey{former, stranger} {
		fields, err := site.agent(t, key).SignRequest(RequestToSign{Method: "GET", URL: site.URL + "/"})
		if err != nil {
			t.Fatal(err)
		}
		request := site.request(t, "GET", "/", "")
		for _, each := range fields {
			request.Header.Set(each.Name, each.Value)
		}
		if status, _, _ := site.send(t, request); status != 401 {
			t.Error("another key", status)
		}
	}
	if site.service.calls != calls {
		t.Error("signatures of unknown keys ask the service", site.service.calls-calls)
	}
}

func TestCallersAtTheSameTimeAskOnce(t *testing.T) {
	site := newSite(t, requireProof, nil)
	requests := make([]*http.Request, 8)
	for i := range requests {
		requests[i] = site.signed(t, "GET", "/", "")
	}
	var all sync.WaitGroup
	// The service answers once all callers wait.
	site.service.mutex.Lock()
	statuses := make([]int, len(requests))
	for i := range requests {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			statuses[i], _, _ = site.send(t, requests[i])
		}(i)
	}
	site.service.mutex.Unlock()
	all.Wait()
	for _, status := range statuses {
		if status != 200 {
			t.Error(statuses)
		}
	}
	own := &pendingLookup{done: make(chan struct{}), result: lookupResult{answered: true}}
	site.gate.agents.pending["did"] = own
	close(own.done)
	calls := site.service.calls
	if result := site.gate.agents.lookup("did"); !result.answered || site.service.calls != calls {
		t.Error("a caller that waits asks too")
	}
}

type brokenNonces struct{ panics bool }

func (s brokenNonces) Record(UsedNonce) (NonceOutcome, error) {
	if s.panics {
		panic("broken")
	}
	return NonceFresh, errors.New("broken")
}

func TestAStoreThatFailsAdmitsNobody(t *testing.T) {
	for _, panics := range []bool{true, false} {
		site := newSite(t, requireProof, func(options *GateOptions) { options.Nonces = brokenNonces{panics} })
		status, _, reasons := site.send(t, site.signed(t, "POST", "/", "1"))
		if status != 503 {
			t.Error(panics, status, reasons)
		}
	}
}

func TestACallerWithoutProofUsesUpNoLimitOfTheAgent(t *testing.T) {
	site := newSite(t, `{"limit": {"requests": 1, "seconds": 3600}}`, nil)
	site.service.change(func() { site.service.method = nil })
	named := func() int {
		request := site.request(t, "GET", "/", "")
		request.Header.Set("ServiceID", testDID)
		status, _, _ := site.send(t, request)
		return status
	}
	signed := func() int {
		status, _, _ := site.send(t, site.signed(t, "GET", "/", ""))
		return status
	}
	for i, status := range []int{named(), named(), signed(), signed()} {
		if want := []int{200, 429, 200, 429}[i]; status != want {
			t.Error(i, status)
		}
	}
}

func TestShadowModeVerifiesAndAdmitsAll(t *testing.T) {
	site := newSite(t, `{"mode": "shadow", "deny": ["7Xk2mPqR9sTvWyZaBcDeFgHj"]}`, nil)
	if status, _, _ := site.send(t, site.signed(t, "GET", "/", "")); status != 200 {
		t.Error(status)
	}
	seen, _ := site.last()
	decision := DecisionOf(seen)
	if decision.Signature.Verdict != Verified || decision.Action != ActionDeny || seen.Header.Get("X-ServiceID-Decision") != "shadow-deny" {
		t.Error(decision)
	}
	if status, _, _ := site.send(t, site.request(t, "POST", "/", "whatever")); status != 200 {
		t.Error(status)
	}
	other := site.signed(t, "POST", "/", "1")
	other.Body, other.ContentLength = http.NoBody, 0
	if status, _, _ := site.send(t, other); status != 200 {
		t.Error(status)
	}
	if decision := DecisionOf(site.seen[len(site.seen)-1]); decision.Signature.Reason != "digest" || decision.Proven() {
		t.Error(decision)
	}
}

func TestRulesOfRoutes(t *testing.T) {
	policy, err := ReadPolicy([]byte(`{"routes": [
		{"path": "/public/*", "methods": ["GET"]},
		{"path": "/Exact", "requireProof": true},
		{"path": "/a%20b"}
	], "deny": ["7Xk2mPqR9sTvWyZaBcDeFgHj"]}`), Naming{})
	if err != nil {
		t.Fatal(err)
	}
	all := policy.allRules()
	for _, each := range []struct {
		method, target string
		index          int
	}{
		{"GET", "/public/x?y=/z", 0}, {"HEAD", "/public", 0}, {"GET", "/PUBLIC/", 0}, {"POST", "/public/x", 3},
		{"GET", "/exact", 1}, {"GET", "/exact/", 1}, {"GET", "/exact/x", 3}, {"GET", "/A%20B", 2}, {"GET", "/publicx", 3},
	} {
		rules := policy.rulesFor(each.method, each.target)
		if len(rules) != 1 || rules[0] != all[each.index] {
			t.Error(each)
		}
	}
	for _, each := range [][2]string{
		{"get", "/public/x"}, {"GET", "/public/../exact"}, {"GET", "//public"}, {"GET", "/public/%2e%2e/exact"}, {"GET", "/p%75blic/x"},
		{"GET", "/public;x"}, {"GET", "/public/\\x"}, {"GET", "*"}, {"GET", ""}, {"GET", "/caf%C3%A9"}, {"GET", "/a%"}, {"GET", "/a%2"}, {"GET", "/a#b"},
	} {
		if rules := policy.rulesFor(each[0], each[1]); len(rules) != len(all) {
			t.Error(each)
		}
	}
}
