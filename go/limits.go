package countersign

import (
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The limits of delegations: reading them, comparing those of two hops, and a request with them.

const (
	maxLimitPathLength = 128
	maxMCPNameLength   = 128
)

var (
	// URLs take more, such as a!b, which no name of a host has.
	limitOrigin = regexp.MustCompile(`^https?://(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?$`)
	limitMethod = regexp.MustCompile(`^[A-Z]{1,16}$`)
	limitPath   = regexp.MustCompile(`^/(?:[^*"\\]*/)?(?:[^*"\\]*|\*)$`)
	mcpMethod   = regexp.MustCompile(`^[A-Za-z/_-]{1,64}$`)
	mcpName     = regexp.MustCompile(`^[\x21\x23-\x5b\x5d-\x7e]+$`)
	// An encoded byte of a letter beyond ASCII.
	encodedByte  = regexp.MustCompile(`^%[89a-fA-F][0-9a-fA-F]`)
	notOfAHeader = regexp.MustCompile(`[^a-z0-9]`)
)

// With these, many servers handle a request as one with another method or path.
var overrideHeaders = map[string]bool{
	"x-http-method-override": true, "x-http-method": true, "x-method-override": true, "x-original-url": true, "x-rewrite-url": true,
}

// isUnambiguousPath reports whether all servers interpret a path in the same way. Other than comparablePath, it takes letters beyond
// ASCII: limits are compared byte for byte, so none is normalized.
func isUnambiguousPath(path string) bool {
	if ambiguousPath.MatchString(path) {
		return false
	}
	for rest := path; ; rest = rest[1:] {
		escape := strings.IndexByte(rest, '%')
		if escape < 0 {
			break
		}
		rest = rest[escape:]
		if !unambiguousEscape.MatchString(rest) && !encodedByte.MatchString(rest) {
			return false
		}
	}
	// Invalid UTF-8 such as %C0%AF becomes a slash in careless decoders.
	decoded, err := url.PathUnescape(path)
	return err == nil && utf8.ValidString(decoded)
}

// readLimits reads limits; false if a value is missing, repeated, or none of its kind.
func readLimits(given *jsonObject) (DelegationLimits, bool) {
	var limits DelegationLimits
	for _, each := range []struct {
		name     string
		most     int
		isOfKind func(string) bool
		into     *[]string
	}{
		{"origins", 8, isLimitOrigin, &limits.Origins},
		{"methods", 8, limitMethod.MatchString, &limits.Methods},
		{"paths", 8, isLimitPath, &limits.Paths},
		{"mcp", 16, isMCPLimit, &limits.MCP},
	} {
		value, isGiven := given.members[each.name]
		if !isGiven && each.name != "origins" {
			continue
		}
		values, ok := limitValues(value, each.most, each.isOfKind)
		if !ok {
			return limits, false
		}
		*each.into = values
	}
	return limits, true
}

// limitValues returns a list of 1 to most different values of a kind.
func limitValues(value any, most int, isOfKind func(string) bool) ([]string, bool) {
	list, ok := value.([]any)
	if !ok || len(list) < 1 || len(list) > most {
		return nil, false
	}
	var values []string
	for _, each := range list {
		text, isText := each.(string)
		if !isText || !isOfKind(text) || contains(values, text) {
			return nil, false
		}
		values = append(values, text)
	}
	return values, true
}

func isLimitOrigin(text string) bool { return limitOrigin.MatchString(text) && isSecureOrigin(text) }

func isLimitPath(text string) bool {
	return len(text) <= maxLimitPathLength && limitPath.MatchString(text) && isUnambiguousPath(text)
}

func isMCPLimit(text string) bool {
	method, name, hasName := strings.Cut(text, " ")
	return mcpMethod.MatchString(method) && (!hasName || (mcpName.MatchString(name) && len(name) <= maxMCPNameLength))
}

// covers reports whether every request within the limits of a hop after is within these.
func (l DelegationLimits) covers(after DelegationLimits) bool {
	return coversValues(l.Origins, after.Origins, isSameText) && coversValues(l.Methods, after.Methods, isSameText) &&
		coversValues(l.Paths, after.Paths, matchesLimitPath) && coversValues(l.MCP, after.MCP, isSameText)
}

func coversValues(before, after []string, covers func(limit, value string) bool) bool {
	if before == nil {
		return true
	}
	for _, value := range after {
		if !matchesAny(before, value, covers) {
			return false
		}
	}
	return after != nil
}

func matchesAny(limits []string, value string, matches func(limit, value string) bool) bool {
	for _, each := range limits {
		if matches(each, value) {
			return true
		}
	}
	return false
}

func isSameText(limit, value string) bool { return limit == value }

// matchesLimitPath compares byte for byte: /prefix/* is what begins with /prefix/, also as a limit.
func matchesLimitPath(limit, path string) bool {
	if prefix, isPrefix := cutSuffix(limit, "*"); isPrefix {
		return strings.HasPrefix(path, prefix)
	}
	return path == limit
}

// allow reports whether a request is within the limits.
func (l DelegationLimits) allow(received signedParts) bool {
	if !contains(l.Origins, received.origin) {
		return false
	}
	if (l.Methods != nil || l.Paths != nil) && hasOverride(received.fields) {
		return false
	}
	if l.Methods != nil && !contains(l.Methods, received.method) {
		return false
	}
	if l.Paths != nil && !(isUnambiguousPath(received.path) && matchesAny(l.Paths, received.path, matchesLimitPath)) {
		return false
	}
	if l.MCP == nil {
		return true
	}
	call, ok := mcpCallOf(received.fields)
	return ok && contains(l.MCP, call)
}

// hasOverride looks for the headers with any character in place of a hyphen: servers map X_HTTP_Method to the same variable.
func hasOverride(fields headerFields) bool {
	for name := range fields {
		if strings.HasPrefix(name, "x") && overrideHeaders[notOfAHeader.ReplaceAllString(name, "-")] {
			return true
		}
	}
	return false
}

// mcpCallOf is false for a method with a space in it, which could be taken for a method and a name.
func mcpCallOf(fields headerFields) (string, bool) {
	method, _ := fields.value("mcp-method")
	name, hasName := fields.value("mcp-name")
	if hasName {
		return method + " " + name, mcpMethod.MatchString(method)
	}
	return method, mcpMethod.MatchString(method)
}
