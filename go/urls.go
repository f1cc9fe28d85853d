package countersign

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// URLs in the one spelling that clients send (WHATWG URL), so that equal addresses are equal texts.
var (
	urlPattern  = regexp.MustCompile(`^(https?)://([^/?#\\@]*)([^?#]*)(\?[^#]*)?$`)
	hostPattern = regexp.MustCompile(`^[a-z0-9._-]+$`)
	portPattern = regexp.MustCompile(`^(?:0|[1-9][0-9]{0,4})$`)
	// The printable characters that URLs keep as they are (the path and the special-query percent-encode sets).
	pathPattern     = regexp.MustCompile(`^(?:/[\x21\x24-\x3b\x3d\x40-\x5b\x5d\x5f\x61-\x7a\x7c\x7e\x25\x26\x27]*)+$`)
	queryPattern    = regexp.MustCompile(`^\?[\x21\x24-\x26\x28-\x3b\x3d\x3f-\x7e]*$`)
	dotSegment      = regexp.MustCompile(`(?i)/(?:\.|%2e){1,2}(?:/|$)`)
	loopbackPattern = regexp.MustCompile(`^127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$`)
	numberLabel     = regexp.MustCompile(`^(?:[0-9]+|0x[0-9a-f]*)$`)
)

// A canonicalURL is an http or https URL without user, password and fragment.
type canonicalURL struct {
	scheme string
	// authority is host and port, without the default port.
	authority string
	// path is empty for a bare origin.
	path string
	// query has its question mark; "" without one.
	query string
}

func (u canonicalURL) origin() string { return u.scheme + "://" + u.authority }

func (u canonicalURL) hostname() string {
	host, _, _ := splitPort(u.authority)
	return host
}

// parseURL parses a URL in its canonical spelling; false for any other text.
func parseURL(text string) (canonicalURL, bool) {
	parts := urlPattern.FindStringSubmatch(text)
	if parts == nil {
		return canonicalURL{}, false
	}
	url := canonicalURL{parts[1], parts[2], parts[3], parts[4]}
	ok := isAuthority(url.authority, url.scheme) &&
		(url.path == "" || isCanonicalPath(url.path)) &&
		(url.query == "" || (queryPattern.MatchString(url.query) && url.path != ""))
	return url, ok
}

// isOrigin reports whether a text is an http or https origin (RFC 6454) in its canonical spelling.
func isOrigin(text string) bool {
	url, ok := parseURL(text)
	return ok && url.path == ""
}

// isCanonicalPath reports whether a URL parser leaves a path as it is: no dot segments, nothing that it would encode.
func isCanonicalPath(path string) bool {
	return pathPattern.MatchString(path) && !dotSegment.MatchString(path)
}

// isLoopback reports whether a host name can only be reached from this machine.
func isLoopback(hostname string) bool {
	return hostname == "localhost" || hostname == "[::1]" || loopbackPattern.MatchString(hostname)
}

// isSecureOrigin reports whether an origin is https, or on loopback.
func isSecureOrigin(text string) bool {
	url, ok := parseURL(text)
	return ok && url.path == "" && (url.scheme == "https" || isLoopback(url.hostname()))
}

func isAuthority(text, scheme string) bool {
	host, port, hasPort := splitPort(text)
	if hasPort {
		fallback := "443"
		if scheme == "http" {
			fallback = "80"
		}
		number, err := strconv.Atoi(port)
		if !portPattern.MatchString(port) || err != nil || number > 65535 || port == fallback {
			return false
		}
	}
	return isHost(host)
}

// splitPort splits host and port. What follows the bracket of an IPv6 address without a colon becomes a part of the host.
func splitPort(authority string) (host, port string, hasPort bool) {
	bracket := strings.LastIndex(authority, "]")
	if colon := strings.LastIndex(authority, ":"); colon > bracket {
		return authority[:colon], authority[colon+1:], true
	}
	return authority, "", false
}

func isHost(host string) bool {
	if strings.HasPrefix(host, "[") {
		address, err := netip.ParseAddr(strings.Trim(host, "[]"))
		return err == nil && address.Is6() && address.Zone() == "" && "["+formatIPv6(address)+"]" == host
	}
	if !hostPattern.MatchString(host) {
		return false
	}
	labels := strings.Split(strings.TrimRight(host, "."), ".")
	if !numberLabel.MatchString(labels[len(labels)-1]) {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Is4() && address.String() == host
}

// formatIPv6 writes an address as URLs do, which have no dotted part.
func formatIPv6(address netip.Addr) string {
	if !address.Is4In6() {
		return address.String()
	}
	bytes := address.As16()
	return fmt.Sprintf("::ffff:%x:%x", int(bytes[12])<<8|int(bytes[13]), int(bytes[14])<<8|int(bytes[15]))
}
