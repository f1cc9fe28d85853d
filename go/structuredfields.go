package countersign

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Structured fields (RFC 9651), as far as HTTP message signatures need them.

// errField: the text is not a structured field, or repeats a key.
var errField = errors.New("not a structured field")

// A bareItem is a string, sfToken, int64, float64, bool, []byte or sfDate.
type bareItem any

// An sfToken is text without quotes, such as jwks_uri.
type sfToken string

// An sfDate is in Unix seconds.
type sfDate int64

type sfParam struct {
	key   string
	value bareItem
}

// sfParams are in their order.
type sfParams []sfParam

func (p sfParams) get(key string) (bareItem, bool) {
	for _, each := range p {
		if each.key == key {
			return each.value, true
		}
	}
	return nil, false
}

// text returns a parameter that is a string; false if it has another type or is not there.
func (p sfParams) text(key string) (string, bool) {
	value, _ := p.get(key)
	text, ok := value.(string)
	return text, ok
}

// An sfMember is an item, or an inner list with items.
type sfMember struct {
	isList bool
	// value of an item.
	value bareItem
	// items of an inner list.
	items  []sfMember
	params sfParams
}

type sfEntry struct {
	key    string
	member sfMember
}

type sfDictionary []sfEntry

func (d sfDictionary) get(key string) (sfMember, bool) {
	for _, each := range d {
		if each.key == key {
			return each.member, true
		}
	}
	return sfMember{}, false
}

var (
	sfKey         = regexp.MustCompile(`^[a-z*][a-z0-9_.*-]*`)
	sfTokenText   = regexp.MustCompile("^[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*")
	sfNumber      = regexp.MustCompile(`^-?[0-9]+(?:\.[0-9]+)?`)
	sfString      = regexp.MustCompile(`^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"`)
	sfBytes       = regexp.MustCompile(`^:[A-Za-z0-9+/]*={0,2}:`)
	sfBoolean     = regexp.MustCompile(`^\?[01]`)
	sfDateText    = regexp.MustCompile(`^@-?[0-9]{1,15}`)
	sfSpaces      = regexp.MustCompile(`^ *`)
	sfWhiteSpace  = regexp.MustCompile(`^[ \t]*`)
	sfInteger     = regexp.MustCompile(`^-?[0-9]{1,15}$`)
	sfDecimal     = regexp.MustCompile(`^-?[0-9]{1,12}\.[0-9]{1,3}$`)
	printableText = regexp.MustCompile(`^[\x20-\x7e]*$`)
)

// parseDictionary parses a dictionary (RFC 9651 section 4.2.2).
//
// RFC 9651 lets the last of several equal keys win. This parser refuses them, since two readers that differ in this would see
// different signatures.
func parseDictionary(text string) (sfDictionary, error) {
	parser := &sfParser{text: text}
	parser.take(sfSpaces)
	var members sfDictionary
	if parser.atEnd() {
		return members, nil
	}
	for {
		key, err := parser.expect(sfKey)
		if err != nil {
			return nil, err
		}
		if _, repeated := members.get(key); repeated {
			return nil, errField
		}
		member, err := parser.dictionaryMember()
		if err != nil {
			return nil, err
		}
		members = append(members, sfEntry{key, member})
		space := parser.take(sfWhiteSpace)
		if parser.atEnd() && !strings.Contains(space, "\t") {
			return members, nil
		}
		if !parser.skip(',') {
			return nil, errField
		}
		parser.take(sfWhiteSpace)
	}
}

// parseStringItem parses a string without parameters, such as "https://host".
func parseStringItem(text string) (string, error) {
	parser := &sfParser{text: text}
	parser.take(sfSpaces)
	item, err := parser.item()
	if err != nil {
		return "", err
	}
	parser.take(sfSpaces)
	value, ok := item.value.(string)
	if !ok || len(item.params) > 0 || !parser.atEnd() {
		return "", errField
	}
	return value, nil
}

// serializeString writes a string item (RFC 9651 section 4.1.6); an error if the text is not printable ASCII.
func serializeString(text string) (string, error) {
	if !printableText.MatchString(text) {
		return "", errField
	}
	return quoted(text), nil
}

func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// serialize writes a parsed member in its canonical form (RFC 9651 section 4.1).
func (m sfMember) serialize() string {
	var out strings.Builder
	if m.isList {
		out.WriteByte('(')
		for i, each := range m.items {
			if i > 0 {
				out.WriteByte(' ')
			}
			out.WriteString(each.serialize())
		}
		out.WriteByte(')')
	} else {
		out.WriteString(serializeBareItem(m.value))
	}
	for _, each := range m.params {
		out.WriteString(";" + each.key)
		if each.value != true {
			out.WriteString("=" + serializeBareItem(each.value))
		}
	}
	return out.String()
}

func serializeBareItem(item bareItem) string {
	switch value := item.(type) {
	case bool:
		if value {
			return "?1"
		}
		return "?0"
	case []byte:
		return ":" + encodeBase64(value) + ":"
	case sfToken:
		return string(value)
	case string:
		return quoted(value)
	case sfDate:
		return "@" + strconv.FormatInt(int64(value), 10)
	case int64:
		return strconv.FormatInt(value, 10)
	case float64:
		// Without the sign of -0.0, as RFC 9651 section 4.1.5 has it.
		text := strings.TrimRight(strconv.FormatFloat(value+0, 'f', 3, 64), "0")
		if strings.HasSuffix(text, ".") {
			text += "0"
		}
		return text
	default:
		panic(fmt.Sprintf("no bare item: %T", item))
	}
}

type sfParser struct {
	text string
	at   int
}

func (p *sfParser) atEnd() bool { return p.at == len(p.text) }

func (p *sfParser) skip(character byte) bool {
	if p.atEnd() || p.text[p.at] != character {
		return false
	}
	p.at++
	return true
}

func (p *sfParser) take(pattern *regexp.Regexp) string {
	text := pattern.FindString(p.text[p.at:])
	p.at += len(text)
	return text
}

func (p *sfParser) expect(pattern *regexp.Regexp) (string, error) {
	text := p.take(pattern)
	if text == "" {
		return "", errField
	}
	return text, nil
}

func (p *sfParser) dictionaryMember() (sfMember, error) {
	if !p.skip('=') {
		params, err := p.parameters()
		return sfMember{value: true, params: params}, err
	}
	if p.skip('(') {
		return p.innerList()
	}
	return p.item()
}

func (p *sfParser) innerList() (sfMember, error) {
	list := sfMember{isList: true}
	for {
		spaces := p.take(sfSpaces)
		if p.skip(')') {
			params, err := p.parameters()
			list.params = params
			return list, err
		}
		if len(list.items) > 0 && spaces == "" {
			return sfMember{}, errField
		}
		item, err := p.item()
		if err != nil {
			return sfMember{}, err
		}
		list.items = append(list.items, item)
	}
}

func (p *sfParser) item() (sfMember, error) {
	value, err := p.bareItem()
	if err != nil {
		return sfMember{}, err
	}
	params, err := p.parameters()
	return sfMember{value: value, params: params}, err
}

func (p *sfParser) parameters() (sfParams, error) {
	var params sfParams
	for p.skip(';') {
		p.take(sfSpaces)
		key, err := p.expect(sfKey)
		if err != nil {
			return nil, err
		}
		if _, repeated := params.get(key); repeated {
			return nil, errField
		}
		var value bareItem = true
		if p.skip('=') {
			if value, err = p.bareItem(); err != nil {
				return nil, err
			}
		}
		params = append(params, sfParam{key, value})
	}
	return params, nil
}

func (p *sfParser) bareItem() (bareItem, error) {
	if p.atEnd() {
		return nil, errField
	}
	switch first := p.text[p.at]; {
	case first == '"':
		text, err := p.expect(sfString)
		if err != nil {
			return nil, err
		}
		return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(text[1 : len(text)-1]), nil
	case first == ':':
		text, err := p.expect(sfBytes)
		if err != nil {
			return nil, err
		}
		// Another spelling of the same bytes would let an intermediary change a signed field.
		data, ok := decodeBase64(text[1 : len(text)-1])
		if !ok {
			return nil, errField
		}
		return data, nil
	case first == '?':
		text, err := p.expect(sfBoolean)
		return text == "?1", err
	case first == '@':
		return p.date()
	case first == '-' || (first >= '0' && first <= '9'):
		return p.number()
	default:
		text, err := p.expect(sfTokenText)
		return sfToken(text), err
	}
}

func (p *sfParser) date() (bareItem, error) {
	text, err := p.expect(sfDateText)
	if err != nil || (!p.atEnd() && strings.IndexByte("0123456789.", p.text[p.at]) >= 0) {
		return nil, errField
	}
	seconds, err := strconv.ParseInt(text[1:], 10, 64)
	return sfDate(seconds), err
}

func (p *sfParser) number() (bareItem, error) {
	text, err := p.expect(sfNumber)
	if err != nil {
		return nil, err
	}
	if sfInteger.MatchString(text) {
		return strconv.ParseInt(text, 10, 64)
	}
	if sfDecimal.MatchString(text) {
		return strconv.ParseFloat(text, 64)
	}
	return nil, errField
}
