package countersign

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// signToken signs a token with the Ed25519 key of the issuer in certificates.json.
func signToken(t *testing.T, file tokenVectors, typ, payload string) string {
	t.Helper()
	var set struct{ Keys []struct{ Kid string } }
	if err := json.Unmarshal(file.KeySet, &set); err != nil {
		t.Fatal(err)
	}
	return signHeader(t, fmt.Sprintf(`{"alg":"EdDSA","kid":"%s","typ":"%s"}`, set.Keys[0].Kid, typ), payload)
}

func signHeader(t *testing.T, header, payload string) string {
	t.Helper()
	key, err := KeyFromSeed(unhex(t, testSeed))
	if err != nil {
		t.Fatal(err)
	}
	input := encodeBase64URL([]byte(header)) + "." + encodeBase64URL([]byte(payload))
	return input + "." + encodeBase64URL(key.sign([]byte(input)))
}

func payloadOf(t *testing.T, token string) string {
	t.Helper()
	data, ok := decodeBase64URL(strings.Split(token, ".")[1])
	if !ok {
		t.Fatal(token)
	}
	return string(data)
}

func TestACertificateWithAKeyThatNoAgentCanHave(t *testing.T) {
	file, options := readTokenVectors(t)
	good := payloadOf(t, file.Certificates.Valid[0].Token)
	if _, err := VerifyCertificate(signToken(t, file, typCertificate, good), options); err != nil {
		t.Fatal(err)
	}
	claims, err := parseJSONObject([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	own, _ := claims.object("cnf").object("jwk").text("x")
	identity := encodeBase64URL(append([]byte{1}, make([]byte, 31)...))
	faulty := signToken(t, file, typCertificate, strings.Replace(good, own, identity, 1))
	if _, err := VerifyCertificate(faulty, options); !errors.Is(err, &Error{Code: CodeInvalidToken}) {
		t.Error(err)
	}
}

func TestStatusListsThatAreNotOfTheIssuer(t *testing.T) {
	file, options := readTokenVectors(t)
	var packed bytes.Buffer
	writer := zlib.NewWriter(&packed)
	if _, err := writer.Write(make([]byte, statusListBytes)); err != nil || writer.Close() != nil {
		t.Fatal(err)
	}
	list := func(data []byte, more string) error {
		payload := fmt.Sprintf(`{"sub":"%s","iat":%d,"exp":%d,"status_list":{"bits":2,"lst":"%s"}%s}`,
			file.StatusLists.URI, file.Now/1000, file.Now/1000+600, encodeBase64URL(data), more)
		_, err := VerifyStatusList(signToken(t, file, typStatusList, payload), file.Issuer, file.StatusLists.URI, options)
		return err
	}
	if err := list(packed.Bytes(), `,"iss":"`+file.Issuer+`"`); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"another issuer":     list(packed.Bytes(), `,"iss":"https://other.example"`),
		"data after its end": list(append(packed.Bytes(), 0), ""),
		"a wrong feed":       list(packed.Bytes(), `,"feed":{"epoch":"x","n":-1}`),
	} {
		if !errors.Is(err, &Error{Code: CodeInvalidToken}) {
			t.Error(name, err)
		}
	}
}

func TestHeadersThatGuardsOfSignersCouldMissAreNotRead(t *testing.T) {
	good := `{"alg":"EdDSA","kid":"k","typ":"t"}`
	if parsed, err := parseJWS(signHeader(t, good, "{}"), "token"); err != nil || parsed.kid != "k" {
		t.Fatal(err)
	}
	for _, header := range []string{"\ufeff" + good, " " + good, "{ " + good[1:], "{\x00\"\x00}\x00", "[]", `"x"`} {
		if _, err := parseJWS(signHeader(t, header, "{}"), "token"); !errors.Is(err, &Error{Code: CodeInvalidToken}) {
			t.Errorf("%q: %v", header, err)
		}
	}
	deep := `{"a":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`
	if _, err := parseJWS(signHeader(t, good, deep), "token"); err == nil {
		t.Error("33 levels")
	}
	if _, err := parseJWS(signHeader(t, good, strings.Replace(strings.Replace(deep, "[", "", 1), "]", "", 1)), "token"); err != nil {
		t.Error("32 levels", err)
	}
	if _, err := parseJWS(signHeader(t, good, "{\"a\":\"\xff\"}"), "token"); err == nil {
		t.Error("not UTF-8")
	}
}

func TestKeysOfAnIssuer(t *testing.T) {
	x := strings.Repeat("A", 43)
	for name, each := range map[string]struct {
		set   string
		count int
	}{
		"of other uses":  {`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `","kid":"a","use":"enc"}]}`, 0},
		"of other types": {`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"a"},1]}`, 0},
		"of both types":  {`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `","kid":"a"},{"kty":"EC","crv":"P-256","x":"` + x + `","y":"` + x + `","kid":"b"}]}`, 2},
	} {
		set, err := ParseKeySet([]byte(each.set))
		if err != nil || len(set.keys) != each.count {
			t.Error(name, err)
		}
	}
	for _, set := range []string{
		"", "[]", "{}", `{"keys":[` + strings.Repeat("1,", 64) + `1]}`,
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `","kid":"a"},{"kty":"OKP","crv":"Ed25519","x":"` + x + `","kid":"a"}]}`,
	} {
		if _, err := ParseKeySet([]byte(set)); !errors.Is(err, &Error{Code: CodeInvalidArgument}) {
			t.Error(set, err)
		}
	}
	// crypto/elliptic panics for a point that is not on the curve.
	one := append(make([]byte, 31), 1)
	off := issuerKey{"ES256", one, one}
	if off.verify([]byte("x"), bytes.Repeat([]byte{1}, 64)) {
		t.Error("a key that is not on the curve")
	}
}
