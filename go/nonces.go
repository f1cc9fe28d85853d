package countersign

import (
	"crypto/rand"
	"math"
	"strings"
	"sync"
	"time"
)

const (
	// A request that was accepted before a store began can have a created up to 30 seconds later, and the clocks of several processes
	// differ by up to 5 seconds.
	blindSeconds = 35
	// One key may use a sixteenth of a store.
	nonceShare       = 16
	defaultMaxNonces = 200_000
)

// A UsedNonce is the nonce of a verified request.
type UsedNonce struct {
	// KeyID is the JWK thumbprint of the key.
	KeyID string
	// Nonce is as it was signed: 22 to 128 characters of base64url, of a key with the profile wba any base64, at most 1,026.
	Nonce string
	// Hash is SHA-256 of key and nonce: base64url, 43 characters.
	Hash string
	// CreatedAt is when the signature was made, in Unix seconds, by the signer's clock: up to 30 seconds ahead.
	CreatedAt int64
	// ExpiresAt is until when to remember it, in Unix seconds: at most 330 seconds after it was made.
	ExpiresAt int64
}

// A NonceOutcome is what a NonceStore says about a nonce.
type NonceOutcome string

const (
	// NonceFresh: the nonce was not used before, and is recorded.
	NonceFresh NonceOutcome = "fresh"
	// NonceUsed: it was used before.
	NonceUsed NonceOutcome = "used"
	// NonceShareExceeded: this key has used its share of the store.
	NonceShareExceeded NonceOutcome = "share-exceeded"
	// NonceUnchecked: the store cannot tell.
	NonceUnchecked NonceOutcome = "unchecked"
)

// A NonceStore stores nonces. Every process that accepts requests for one audience must share one store.
//
// A store that may not know the nonces from before its start can implement NonceChallenger too, as MemoryNonceStore does.
type NonceStore interface {
	// Record records a nonce atomically: of several requests with one nonce at the same moment, exactly one is told NonceFresh. An error
	// counts as NonceUnchecked.
	Record(nonce UsedNonce) (NonceOutcome, error)
}

// A NonceChallenger is a NonceStore that helps signers whose requests could be older than its memory.
type NonceChallenger interface {
	// Challenge returns a nonce: who signs with it has signed since the store began. "" once no valid signature can be too old.
	Challenge() string
	// RetryAfterSeconds says, after NonceUnchecked, in how many seconds the store can check a new signature of the same signer.
	RetryAfterSeconds(createdAt int64) int
}

// MemoryNonceStoreOptions are the options of NewMemoryNonceStore.
type MemoryNonceStoreOptions struct {
	// MaxEntries is how many nonces it holds at most, 200,000 by default. Nothing unexpired is evicted.
	MaxEntries int
	// Now is the clock. With a clock of your own, the store starts when it is created.
	Now func() time.Time
}

// MemoryNonceStore stores nonces in the memory of this process, for a site that is one process.
//
// The first store of a process knows all that was accepted since the process started, a later one since it was created. It answers
// NonceUnchecked to requests that may have been signed before, and to further ones while it is full.
type MemoryNonceStore struct {
	now        func() time.Time
	maxEntries int
	// began is read with the monotonic clock, so that one that is set forward after the start admits nothing.
	began time.Time
	// startedAt is by a clock of the caller, in Unix seconds.
	startedAt float64
	hasClock  bool
	bootID    string

	mutex    sync.Mutex
	purgedTo int64
	hashes   map[string]struct{}
	used     map[string]int
	bySecond map[int64][]rememberedNonce
}

type rememberedNonce struct{ hash, keyid string }

// When this process loaded this package: no store of it has accepted anything before.
var loadedAt = time.Now()

var firstStore sync.Once

// NewMemoryNonceStore creates a store. The zero value of the options is for a site.
func NewMemoryNonceStore(options MemoryNonceStoreOptions) *MemoryNonceStore {
	store := &MemoryNonceStore{
		now:        options.Now,
		maxEntries: options.MaxEntries,
		began:      time.Now(),
		hasClock:   options.Now != nil,
		bootID:     randomText(16),
		hashes:     map[string]struct{}{},
		used:       map[string]int{},
		bySecond:   map[int64][]rememberedNonce{},
	}
	if store.maxEntries == 0 {
		store.maxEntries = defaultMaxNonces
	}
	if store.hasClock {
		store.startedAt = unixSeconds(store.now())
	} else {
		store.now = time.Now
		firstStore.Do(func() { store.began = loadedAt })
	}
	store.purgedTo = int64(unixSeconds(store.now()))
	return store
}

// Record implements NonceStore.
func (s *MemoryNonceStore) Record(nonce UsedNonce) (NonceOutcome, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.purge()
	if _, used := s.hashes[nonce.Hash]; used {
		return NonceUsed, nil
	}
	// The clock went backwards: this nonce may have been recorded and purged.
	if nonce.ExpiresAt < s.purgedTo {
		return NonceUnchecked, nil
	}
	if s.used[nonce.KeyID] >= s.share() {
		return NonceShareExceeded, nil
	}
	if len(s.hashes) >= s.maxEntries {
		return NonceUnchecked, nil
	}
	s.hashes[nonce.Hash] = struct{}{}
	s.used[nonce.KeyID]++
	s.bySecond[nonce.ExpiresAt] = append(s.bySecond[nonce.ExpiresAt], rememberedNonce{nonce.Hash, nonce.KeyID})
	// Nobody could know the boot id before the start, whatever the clocks say.
	if strings.HasPrefix(nonce.Nonce, s.bootID) || float64(nonce.CreatedAt) >= s.blindUntil() {
		return NonceFresh, nil
	}
	return NonceUnchecked, nil
}

// Challenge implements NonceChallenger.
func (s *MemoryNonceStore) Challenge() string {
	if unixSeconds(s.now()) >= s.blindUntil()+maxLifetimeSeconds {
		return ""
	}
	return s.bootID + randomText(16)
}

// RetryAfterSeconds implements NonceChallenger.
func (s *MemoryNonceStore) RetryAfterSeconds(createdAt int64) int {
	// Clocks may be 30 seconds behind; an older signature is not from now.
	signerNow := math.Max(float64(createdAt), unixSeconds(s.now())-maxClockSkewSeconds)
	return int(math.Max(1, math.Ceil(s.blindUntil()-signerNow)))
}

func (s *MemoryNonceStore) share() int {
	if s.maxEntries < nonceShare {
		return 1
	}
	return s.maxEntries / nonceShare
}

func (s *MemoryNonceStore) blindUntil() float64 {
	if s.hasClock {
		return s.startedAt + blindSeconds
	}
	return unixSeconds(s.now()) - time.Since(s.began).Seconds() + blindSeconds
}

func (s *MemoryNonceStore) purge() {
	second := int64(unixSeconds(s.now()))
	for s.purgedTo < second && len(s.bySecond) > 0 {
		for _, each := range s.bySecond[s.purgedTo] {
			delete(s.hashes, each.hash)
			if s.used[each.keyid]--; s.used[each.keyid] == 0 {
				delete(s.used, each.keyid)
			}
		}
		delete(s.bySecond, s.purgedTo)
		s.purgedTo++
	}
	if s.purgedTo < second {
		s.purgedTo = second
	}
}

// unixSeconds returns Unix seconds, precise to milliseconds.
func unixSeconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }

// randomText returns random bytes in base64url.
func randomText(bytes int) string {
	data := make([]byte, bytes)
	if _, err := rand.Read(data); err != nil {
		panic("no random numbers: " + err.Error())
	}
	return encodeBase64URL(data)
}
