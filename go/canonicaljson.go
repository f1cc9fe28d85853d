package countersign

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
)

// canonicalJSON writes a parsed value in the canonical form of RFC 8785 (JCS): members sorted by their UTF-16 code units, no white
// space, numbers and strings as ECMAScript writes them. It returns nil for numbers that are not finite.
func canonicalJSON(value any) []byte {
	var out strings.Builder
	if !writeCanonical(&out, value) {
		return nil
	}
	return []byte(out.String())
}

func writeCanonical(out *strings.Builder, value any) bool {
	switch value := value.(type) {
	case nil:
		out.WriteString("null")
	case bool:
		out.WriteString(strconv.FormatBool(value))
	case float64:
		if math.IsInf(value, 0) || math.IsNaN(value) {
			return false
		}
		out.WriteString(numberText(value))
	case string:
		writeCanonicalText(out, value)
	case []any:
		out.WriteByte('[')
		for i, each := range value {
			if i > 0 {
				out.WriteByte(',')
			}
			if !writeCanonical(out, each) {
				return false
			}
		}
		out.WriteByte(']')
	case *jsonObject:
		return writeCanonicalObject(out, value)
	default:
		panic(fmt.Sprintf("no JSON: %T", value))
	}
	return true
}

func writeCanonicalObject(out *strings.Builder, object *jsonObject) bool {
	names := append([]string{}, object.names...)
	sort.Slice(names, func(i, j int) bool { return lessUTF16(names[i], names[j]) })
	out.WriteByte('{')
	for i, name := range names {
		if i > 0 {
			out.WriteByte(',')
		}
		writeCanonicalText(out, name)
		out.WriteByte(':')
		if !writeCanonical(out, object.members[name]) {
			return false
		}
	}
	out.WriteByte('}')
	return true
}

func lessUTF16(one, other string) bool {
	a, b := utf16.Encode([]rune(one)), utf16.Encode([]rune(other))
	for i := range a {
		if i >= len(b) {
			return false
		}
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return len(a) < len(b)
}

var shortEscapes = map[rune]string{
	'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
}

func writeCanonicalText(out *strings.Builder, text string) {
	out.WriteByte('"')
	for _, letter := range text {
		if escape, ok := shortEscapes[letter]; ok {
			out.WriteString(escape)
		} else if letter < 0x20 {
			fmt.Fprintf(out, `\u%04x`, letter)
		} else {
			out.WriteRune(letter)
		}
	}
	out.WriteByte('"')
}

// numberText writes a finite number as ECMAScript does (Number::toString).
func numberText(value float64) string {
	if value == 0 {
		return "0"
	}
	magnitude := math.Abs(value)
	if magnitude >= 1e-6 && magnitude < 1e21 {
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	text := strconv.FormatFloat(value, 'e', -1, 64)
	// Go writes at least two digits of an exponent.
	mantissa, exponent, _ := strings.Cut(text, "e")
	return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
}
