package countersign

import (
	"regexp"
	"strings"
)

// A HeaderField is one header field line.
type HeaderField struct{ Name, Value string }

// A RawRequest is a request as it was received, before a router has decoded, joined or normalized a part of it.
type RawRequest struct {
	// Method is as sent, such as GET.
	Method string
	// Scheme is http or https: that of the client's connection.
	Scheme string
	// Authority is the Host header, or :authority of HTTP/2.
	Authority string
	// Target is the request target as sent: /path?query, or in absolute form.
	Target string
	// Headers has every header field line in its order; names in any case.
	Headers []HeaderField
	// Body has the bytes of the body, and is empty and not nil without content. Nil: they are not visible here.
	Body []byte
	// HasContent says whether there is content, if the body is not visible. Nil: as the headers say.
	HasContent *bool
}

// headerFields has the lines of each header field without surrounding white space, by its name in lower case.
type headerFields map[string][]string

func fieldsOf(headers []HeaderField) headerFields {
	fields := headerFields{}
	for _, each := range headers {
		name := strings.ToLower(each.Name)
		fields[name] = append(fields[name], strings.Trim(each.Value, " \t"))
	}
	return fields
}

// value returns the combined value of a header field (RFC 9110 section 5.2). name is in lower case.
func (f headerFields) value(name string) (string, bool) {
	lines, ok := f[name]
	return strings.Join(lines, ", "), ok
}

func (f headerFields) has(name string) bool {
	_, ok := f[name]
	return ok
}

var (
	zeros            = regexp.MustCompile(`^0+$`)
	authorityPattern = regexp.MustCompile(`^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?$`)
	absoluteTarget   = regexp.MustCompile(`(?is)^(https?)://([^/?#]*)(.*)$`)
	printableTarget  = regexp.MustCompile(`^[\x21-\x7e]*$`)
)

// hasContent reports whether a request has content, as far as it can be seen.
func (r *RawRequest) hasContent(fields headerFields) bool {
	if r.Body != nil {
		return len(r.Body) > 0
	}
	if r.HasContent != nil {
		return *r.HasContent
	}
	length, ok := fields.value("content-length")
	return fields.has("transfer-encoding") || (ok && !zeros.MatchString(length))
}

// readAuthority returns the authority of a request in lower case, without the default port of its scheme (RFC 9421 section 2.2.3);
// false if it has several Host fields, or one that differs from an absolute target or from Authority.
func readAuthority(request *RawRequest, fields headerFields) (string, bool) {
	named := append([]string{}, fields["host"]...)
	if len(named) > 1 {
		return "", false
	}
	if absolute := absoluteTarget.FindStringSubmatch(request.Target); absolute != nil {
		if strings.ToLower(absolute[1]) != request.Scheme {
			return "", false
		}
		named = append(named, absolute[2])
	}
	authority, ok := normalizeAuthority(request.Authority, request.Scheme)
	for _, each := range named {
		other, isAuthority := normalizeAuthority(each, request.Scheme)
		ok = ok && isAuthority && other == authority
	}
	return authority, ok
}

func normalizeAuthority(text, scheme string) (string, bool) {
	lower := strings.ToLower(text)
	if !authorityPattern.MatchString(lower) {
		return "", false
	}
	if scheme == "https" {
		return strings.TrimSuffix(lower, ":443"), true
	}
	return strings.TrimSuffix(lower, ":80"), true
}

// readPath returns the path and the query of a request target, the query with its question mark; false if the path is not in the
// form that clients send: it could be one resource to the signer and another to the site.
func readPath(target string) (path, query string, ok bool) {
	rest := target
	if absolute := absoluteTarget.FindStringSubmatch(target); absolute != nil {
		rest = absolute[3]
	}
	path = rest
	if mark := strings.IndexByte(rest, '?'); mark >= 0 {
		path, query = rest[:mark], rest[mark:]
	}
	ok = printableTarget.MatchString(rest) && !strings.Contains(rest, "#") && isCanonicalPath(path)
	return path, query, ok
}

// isSafeMethod reports whether a method does not change state (RFC 9110 section 9.2.1).
func isSafeMethod(method string) bool {
	switch method {
	case "GET", "HEAD", "OPTIONS", "TRACE":
		return true
	}
	return false
}
