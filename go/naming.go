package countersign

import (
	"regexp"
	"strings"
)

// Naming has the names that depend on a deployment's short name and on its identification header. The zero value is the default.
type Naming struct {
	// ShortName is in DIDs (svc:agent:…), claim tokens and signed bytes; "svc" by default.
	ShortName string
	// IDHeader is the identification header; "ServiceID" by default.
	IDHeader string
}

var (
	shortNamePattern = regexp.MustCompile(`^[a-z][a-z0-9]{0,15}$`)
	idHeaderPattern  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,31}$`)
	tailPattern      = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{24}$`)
	noncePattern     = regexp.MustCompile(`^[A-Za-z0-9_-]{22,128}$`)
)

// withDefaults fills in the names that are not given.
func (n Naming) withDefaults() (Naming, error) {
	if n.ShortName == "" {
		n.ShortName = "svc"
	}
	if n.IDHeader == "" {
		n.IDHeader = "ServiceID"
	}
	if !shortNamePattern.MatchString(n.ShortName) {
		return n, errorf(CodeInvalidArgument, "The short name has 1 to 16 lower-case letters and digits, the first one a letter.")
	}
	if !idHeaderPattern.MatchString(n.IDHeader) {
		return n, errorf(CodeInvalidArgument, "The identification header has 1 to 32 letters, digits and hyphens.")
	}
	return n, nil
}

func (n Naming) didPrefix() string { return n.ShortName + ":agent:" }

// didField is the JSON member that carries a DID.
func (n Naming) didField() string { return n.ShortName + "Did" }

func (n Naming) claimTokenPrefix() string { return n.ShortName + "-verify-" }

func (n Naming) challengePrefix() string { return n.ShortName + "-challenge-v1:" }

func (n Naming) didOf(tail string) string { return n.didPrefix() + tail }

// tailOf returns the last 24 characters of a DID, given in full or as a bare tail.
func (n Naming) tailOf(text string) (string, bool) {
	tail := strings.TrimPrefix(text, n.didPrefix())
	return tail, tailPattern.MatchString(tail)
}

// didOfKeySet returns the agent whose key set is at an address of a service.
func (n Naming) didOfKeySet(service, url string) (string, bool) {
	rest, isOfService := cutPrefix(url, service+"/agent/")
	name, isKeySet := cutSuffix(rest, "/jwks.json")
	tail, ok := n.tailOf(name)
	return n.didOf(tail), isOfService && isKeySet && ok
}

// forwardedHeader is the header in which the middleware passes a part of its decision to the site, such as X-ServiceID-DID.
func (n Naming) forwardedHeader(name string) string { return "X-" + n.IDHeader + "-" + name }

// parseChallenge reads a challenge svc-challenge-v1:<audience>:<nonce>.
func (n Naming) parseChallenge(text string) (audience, nonce string, ok bool) {
	rest, ok := cutPrefix(text, n.challengePrefix())
	colon := strings.LastIndexByte(rest, ':')
	if !ok || colon < 0 {
		return "", "", false
	}
	audience, nonce = rest[:colon], rest[colon+1:]
	return audience, nonce, isOrigin(audience) && noncePattern.MatchString(nonce)
}

// cutPrefix is strings.CutPrefix of Go 1.20.
func cutPrefix(text, prefix string) (string, bool) {
	return strings.TrimPrefix(text, prefix), strings.HasPrefix(text, prefix)
}

// cutSuffix is strings.CutSuffix of Go 1.20.
func cutSuffix(text, suffix string) (string, bool) {
	return strings.TrimSuffix(text, suffix), strings.HasSuffix(text, suffix)
}
