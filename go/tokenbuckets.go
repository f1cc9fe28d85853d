package countersign

import (
	"math"
	"net/netip"
	"strings"
	"time"
)

const maxBuckets = 10_000

// tokenBuckets has a token bucket for each key: requests at once, refilled evenly over seconds.
type tokenBuckets struct {
	requests float64
	// rate is in tokens a second.
	rate    float64
	buckets *boundedMap[string, tokenBucket]
}

type tokenBucket struct {
	tokens   float64
	filledAt time.Time
}

func newTokenBuckets(requests, seconds float64) *tokenBuckets {
	return &tokenBuckets{requests, requests / seconds, newBoundedMap[string, tokenBucket](maxBuckets)}
}

// take takes a token. It returns 0 if there was one, else the number of seconds until the next one.
func (b *tokenBuckets) take(key string, now time.Time) int {
	wait := 0
	b.buckets.update(key, func(bucket tokenBucket, found bool) tokenBucket {
		tokens := b.requests
		if found {
			elapsed := math.Max(0, now.Sub(bucket.filledAt).Seconds())
			tokens = math.Min(b.requests, bucket.tokens+elapsed*b.rate)
		}
		if tokens >= 1 {
			tokens--
		} else {
			wait = int(math.Max(1, math.Ceil((1-tokens)/b.rate)))
		}
		return tokenBucket{tokens, now}
	})
	return wait
}

// addressKey returns the key under which requests of an address are counted: an IPv4 address, or the /64 of an IPv6 address.
func addressKey(text string) string {
	bare, _, _ := strings.Cut(strings.ToLower(text), "%")
	address, err := netip.ParseAddr(bare)
	if err != nil {
		if len(bare) > 64 {
			return bare[:64]
		}
		return bare
	}
	address = address.Unmap()
	if address.Is4() {
		return address.String()
	}
	prefix, err := address.Prefix(64)
	if err != nil {
		return bare
	}
	return prefix.String()
}
