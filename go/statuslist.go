package countersign

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"io"
	"math"
	"regexp"
	"time"
)

// statusListBytes are 131,072 entries of 2 bits.
const statusListBytes = 32_768

// A StatusValue is an entry of a status list.
type StatusValue int

// What entries of status lists mean (docs/status.md). What the draft does not assign counts as StatusInvalid.
const (
	StatusValid     StatusValue = 0
	StatusInvalid   StatusValue = 1
	StatusSuspended StatusValue = 2
)

// A StatusList is a verified status list.
type StatusList struct {
	// IssuedAt is the time of the list.
	IssuedAt time.Time
	// Feed is its position in the status feed; nil if it names none.
	Feed    *FeedPosition
	entries []byte
	// lifetime is how long it may be used; 0: no longer than it takes.
	lifetime  time.Duration
	expiresAt time.Time
}

// Status returns the entry at an index. What the draft does not assign, or the list does not have, is StatusInvalid.
func (l *StatusList) Status(idx int64) StatusValue {
	if idx < 0 || idx/4 >= int64(len(l.entries)) {
		return StatusInvalid
	}
	switch l.entries[idx/4] >> (idx % 4 * 2) & 3 {
	case 0:
		return StatusValid
	case 2:
		return StatusSuspended
	}
	return StatusInvalid
}

func verifyStatusList(parsed *jws, issuer, uri string, keys *KeySet, now time.Time) (*StatusList, error) {
	if err := parsed.assertSigned(typStatusList, whatStatusList, keys, now); err != nil {
		return nil, err
	}
	claims := parsed.payload
	if claims.members["sub"] != uri {
		return nil, invalidToken(whatStatusList, "is for another address.")
	}
	if claims.has("iss") && claims.members["iss"] != issuer {
		return nil, invalidToken(whatStatusList, "was not issued by "+issuer+".")
	}
	list := claims.object("status_list")
	lst, _ := list.text("lst")
	entries, ok := inflateList(lst)
	if !ok || list.members["bits"] != float64(2) {
		return nil, invalidToken(whatStatusList, "contains no list of 131,072 entries.")
	}
	ttl, isNumber := claims.members["ttl"].(float64)
	if claims.has("ttl") && !(isNumber && ttl >= 0) {
		return nil, invalidToken(whatStatusList, "has a wrong ttl.")
	}
	feed, ok := feedIn(claims)
	if !ok {
		return nil, invalidToken(whatStatusList, "has a wrong feed.")
	}
	issued, _ := claims.members["iat"].(float64)
	expires, _ := claims.members["exp"].(float64)
	// Longer than a day is no use, and may be beyond the range of a duration.
	lifetime := time.Duration(math.Min(ttl, 86_400) * float64(time.Second))
	return &StatusList{timeOf(issued), feed, entries, lifetime, timeOf(expires)}, nil
}

// timeOf returns the time of Unix seconds.
func timeOf(seconds float64) time.Time {
	whole, part := math.Modf(math.Max(-maxSafeInteger, math.Min(seconds, maxSafeInteger)))
	return time.Unix(int64(whole), int64(part*1e9))
}

var base64urlText = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

// inflateList returns the bytes of a list from its compressed form in base64url.
func inflateList(lst string) ([]byte, bool) {
	if !base64urlText.MatchString(lst) {
		return nil, false
	}
	compressed, err := base64.RawURLEncoding.DecodeString(lst)
	if err != nil {
		return nil, false
	}
	source := bytes.NewReader(compressed)
	inflater, err := zlib.NewReader(source)
	if err != nil {
		return nil, false
	}
	// Bounded, so that small data cannot fill the memory.
	entries, err := io.ReadAll(io.LimitReader(inflater, statusListBytes+1))
	// What follows the compressed data is refused.
	return entries, err == nil && len(entries) == statusListBytes && source.Len() == 0
}
