package countersign

import (
	"net/url"
	"regexp"
	"strings"
)

// Which paths servers read alike (packages/gateway/src/policy/route-matcher.ts).
var (
	// Parts of paths that servers resolve, merge or cut off, and characters that no URL may contain.
	ambiguousPath = regexp.MustCompile(`^[^/]|^$|//|/\.{1,2}(?:/|$)|[^\x21-\x7e]|[\\;#?]`)
	// Encoded characters that a URL cannot contain otherwise, or that clients send in both forms: a space and "<>[]^`{|}. All others may be
	// decoded before a server looks for a handler, or not.
	unambiguousEscape = regexp.MustCompile(`^%(?:2[02]|3[cCeE]|5[bBdDeE]|60|7[bBcCdD])`)
	plainMethod       = regexp.MustCompile(`^[A-Z-]*$`)
	routePathPattern  = regexp.MustCompile(`^/[^\s?#*]*$`)
)

func isUnambiguousMethod(method string) bool { return plainMethod.MatchString(method) }

// comparablePath returns the form in which paths are compared: without encodings, in lower case, because many routers ignore letter
// case. False if servers may interpret the path differently.
//
// Paths with letters beyond ASCII count as ambiguous here: comparing them needs Unicode normalization, which Go's standard library
// does not have. The strictest of all rules applies to them.
func comparablePath(path string) (string, bool) {
	if ambiguousPath.MatchString(path) {
		return "", false
	}
	for rest := path; ; rest = rest[1:] {
		escape := strings.IndexByte(rest, '%')
		if escape < 0 {
			break
		}
		rest = rest[escape:]
		if !unambiguousEscape.MatchString(rest) {
			return "", false
		}
	}
	decoded, err := url.PathUnescape(path)
	return strings.ToLower(decoded), err == nil
}

// isRoutePath reports whether a text is /exact or /prefix/* with a comparable path.
func isRoutePath(text string) bool {
	_, ok := comparablePath(text)
	base := text
	if strings.HasSuffix(text, "/*") {
		base = strings.TrimSuffix(text, "*")
	}
	return ok && routePathPattern.MatchString(base)
}

// matchesRoute reports whether a comparable path is one of a route. Ignores a slash at the end, because many servers do.
func matchesRoute(pattern, path string) bool {
	comparable, _ := comparablePath(pattern)
	if strings.HasSuffix(comparable, "*") {
		prefix := strings.TrimSuffix(comparable, "*")
		return strings.HasPrefix(path, prefix) || path == strings.TrimSuffix(prefix, "/")
	}
	bare := comparable
	if len(bare) > 1 {
		bare = strings.TrimSuffix(bare, "/")
	}
	return path == bare || path == bare+"/"
}
