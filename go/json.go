package countersign

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"
)

// Parsers differ in how deep they read, so nothing that is verified is nested deeper.
const maxJSONDepth = 32

var errNotJSON = errors.New("not JSON in UTF-8")

// A jsonObject has its members by their exact names. encoding/json would match the names of a struct in any case.
type jsonObject struct {
	// names in the order in which they occur first.
	names   []string
	members map[string]any
	// repeated is the first name that occurs twice; "" if none does.
	repeated string
}

func (o *jsonObject) has(name string) bool {
	_, ok := o.members[name]
	return ok
}

// object returns a member that is an object; an empty one if it is not.
func (o *jsonObject) object(name string) *jsonObject {
	if found, ok := o.members[name].(*jsonObject); ok {
		return found
	}
	return &jsonObject{}
}

// text returns a member that is a text.
func (o *jsonObject) text(name string) (string, bool) {
	text, ok := o.members[name].(string)
	return text, ok
}

// integer returns a member that is an integer, as JSON means it: 1.0 is one too.
func (o *jsonObject) integer(name string, least, most float64) (int64, bool) {
	number, ok := o.members[name].(float64)
	if !ok || number != math.Trunc(number) || !(number >= least && number <= most) {
		return 0, false
	}
	// What is larger than this is no index of anything.
	return int64(math.Max(-maxSafeInteger-1, math.Min(number, maxSafeInteger+1))), true
}

// The largest integer that every JSON parser reads exactly.
const maxSafeInteger = 1<<53 - 1

// parseJSON parses JSON (RFC 8259) in UTF-8 without a byte order mark, nested at most 32 levels deep.
// Half of a character, such as \ud800, becomes U+FFFD. Of repeated members the last one counts, as in JavaScript and Python; see jsonObject.repeated.
//
// The result is a *jsonObject, []any, string, float64 (infinite beyond its range), bool or nil.
func parseJSON(data []byte) (any, error) {
	// encoding/json replaces what is not UTF-8, and tokens are only read of what is JSON as a whole.
	if !utf8.Valid(data) || !json.Valid(data) {
		return nil, errNotJSON
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	value, err := readJSONValue(decoder)
	if err != nil || isDeeperThan(value, maxJSONDepth) {
		return nil, errNotJSON
	}
	return value, nil
}

// isDeeperThan looks at what is left: of a member that was repeated, only the last value counts.
func isDeeperThan(value any, levels int) bool {
	var inner []any
	switch value := value.(type) {
	case *jsonObject:
		for _, each := range value.members {
			inner = append(inner, each)
		}
	case []any:
		inner = value
	default:
		return false
	}
	if levels == 0 {
		return true
	}
	for _, each := range inner {
		if isDeeperThan(each, levels-1) {
			return true
		}
	}
	return false
}

// parseJSONObject is parseJSON of what must be an object.
func parseJSONObject(data []byte) (*jsonObject, error) {
	value, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	object, ok := value.(*jsonObject)
	if !ok {
		return nil, errNotJSON
	}
	return object, nil
}

func readJSONValue(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, errNotJSON
	}
	switch value := token.(type) {
	case json.Delim:
		if value == '{' {
			return readJSONObject(decoder)
		}
		return readJSONArray(decoder)
	case json.Number:
		// Beyond the range of a double, the number is infinite with an error that does not matter.
		number, _ := strconv.ParseFloat(value.String(), 64)
		return number, nil
	default:
		return value, nil
	}
}

func readJSONObject(decoder *json.Decoder) (any, error) {
	object := &jsonObject{members: map[string]any{}}
	for decoder.More() {
		token, err := decoder.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, errNotJSON
		}
		value, err := readJSONValue(decoder)
		if err != nil {
			return nil, err
		}
		if !object.has(name) {
			object.names = append(object.names, name)
		} else if object.repeated == "" {
			object.repeated = name
		}
		object.members[name] = value
	}
	_, err := decoder.Token()
	return object, err
}

func readJSONArray(decoder *json.Decoder) (any, error) {
	values := []any{}
	for decoder.More() {
		value, err := readJSONValue(decoder)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	_, err := decoder.Token()
	return values, err
}
