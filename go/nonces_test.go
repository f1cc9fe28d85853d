package countersign

import (
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestNonceStoreVectors(t *testing.T) {
	type step struct {
		At      int64
		Restart bool
		Record  *struct {
			Keyid                string
			Nonce                json.RawMessage
			CreatedAt, ExpiresAt int64
		}
		Outcome    NonceOutcome
		Challenge  json.RawMessage
		RetryAfter *int
		CreatedAt  int64
	}
	var file struct {
		Origin int64
		Cases  []struct {
			Name       string
			MaxEntries int
			Start      int64
			Steps      []step
		}
	}
	readVectors(t, "nonce-stores", &file)
	for _, each := range file.Cases {
		seconds := each.Start
		start := func() *MemoryNonceStore {
			clock := func() time.Time { return time.Unix(file.Origin+seconds, 0) }
			return NewMemoryNonceStore(MemoryNonceStoreOptions{MaxEntries: each.MaxEntries, Now: clock})
		}
		store, challenges := start(), map[string]string{}
		for i, step := range each.Steps {
			seconds = step.At
			if step.Restart {
				store = start()
			}
			if step.Challenge != nil {
				playChallenge(t, each.Name, string(step.Challenge), store.Challenge(), challenges)
			}
			if step.RetryAfter != nil {
				if wait := store.RetryAfterSeconds(file.Origin + step.CreatedAt); wait != *step.RetryAfter {
					t.Errorf("%s, step %d: retry after %d", each.Name, i, wait)
				}
			}
			if step.Record == nil {
				continue
			}
			var nonce string
			if json.Unmarshal(step.Record.Nonce, &nonce) != nil {
				var named struct{ Challenge, Prefix string }
				if err := json.Unmarshal(step.Record.Nonce, &named); err != nil {
					t.Fatal(err)
				}
				nonce = named.Prefix + challenges[named.Challenge]
			}
			hash := sha256.Sum256([]byte(step.Record.Keyid + " " + nonce))
			outcome, err := store.Record(UsedNonce{
				step.Record.Keyid, nonce, encodeBase64URL(hash[:]), file.Origin + step.Record.CreatedAt, file.Origin + step.Record.ExpiresAt,
			})
			if outcome != step.Outcome || err != nil {
				t.Errorf("%s, step %d: %s instead of %s", each.Name, i, outcome, step.Outcome)
			}
		}
	}
}

// playChallenge compares a challenge with its name in a case, in JSON; null: there is none.
func playChallenge(t *testing.T, name, wanted, challenge string, challenges map[string]string) {
	t.Helper()
	if wanted == "null" {
		if challenge != "" {
			t.Errorf("%s: a challenge", name)
		}
		return
	}
	for _, earlier := range challenges {
		if earlier == challenge {
			t.Errorf("%s: the same challenge again", name)
		}
	}
	if len(challenge) != 44 {
		t.Errorf("%s: %q", name, challenge)
	}
	challenges[strings.Trim(wanted, `"`)] = challenge
}

func TestTheFirstStoreOfAProcessStartsWithIt(t *testing.T) {
	// The test process is younger than 35 seconds or not: what differs is the store.
	first := &MemoryNonceStore{now: time.Now, began: time.Now().Add(-100 * time.Second)}
	second := &MemoryNonceStore{now: time.Now, began: time.Now()}
	now := unixSeconds(time.Now())
	if first.blindUntil() > now || second.blindUntil() < now {
		t.Error("a store is blind for 35 seconds after it began")
	}
}
