package countersign

import (
	"testing"
)

func TestSignatureVectors(t *testing.T) {
	type signatureCase struct{ Name, PublicKeyHex, MessageHex, SignatureHex string }
	var file struct{ Valid, Invalid []signatureCase }
	readVectors(t, "signatures", &file)
	check := func(each signatureCase, valid bool) {
		key, message, signature := unhex(t, each.PublicKeyHex), unhex(t, each.MessageHex), unhex(t, each.SignatureHex)
		// Twice: the second time the key is known.
		for i := 0; i < 2; i++ {
			if verifySignature(key, message, signature) != valid {
				t.Errorf("%s: valid is not %v", each.Name, valid)
			}
		}
	}
	for _, each := range file.Valid {
		check(each, true)
	}
	for _, each := range file.Invalid {
		check(each, false)
	}
}

func TestPublicKeyVectors(t *testing.T) {
	var file struct {
		Good, Faulty []struct{ Name, Hex, Fault string }
	}
	readVectors(t, "public-keys", &file)
	for _, each := range append(file.Good, file.Faulty...) {
		if fault := keyFault(unhex(t, each.Hex)); fault != each.Fault {
			t.Errorf("%s: %q instead of %q", each.Name, fault, each.Fault)
		}
	}
}

func TestKeyFormatVectors(t *testing.T) {
	var file struct {
		Formats []struct {
			Name, Hex, Thumbprint string
			JWK                   struct{ X string }
		}
	}
	readVectors(t, "key-formats", &file)
	for _, each := range file.Formats {
		key := unhex(t, each.Hex)
		if KeyThumbprint(key) != each.Thumbprint || encodeBase64URL(key) != each.JWK.X {
			t.Errorf("%s: %s", each.Name, KeyThumbprint(key))
		}
	}
}

func TestBase64Vectors(t *testing.T) {
	type textCase struct{ Name, Text, Hex string }
	var file struct {
		Encode         []struct{ Hex, Base64, Base64URL string }
		Key, Signature struct{ Valid, Invalid []textCase }
	}
	readVectors(t, "base64", &file)
	for _, each := range file.Encode {
		data := unhex(t, each.Hex)
		if encodeBase64(data) != each.Base64 || encodeBase64URL(data) != each.Base64URL {
			t.Error(each.Hex)
		}
	}
	check := func(decode func(string) ([]byte, bool), valid, invalid []textCase) {
		for _, each := range valid {
			if data, ok := decode(each.Text); !ok || string(data) != string(unhex(t, each.Hex)) {
				t.Error(each.Name)
			}
		}
		for _, each := range invalid {
			if _, ok := decode(each.Text); ok {
				t.Error(each.Name)
			}
		}
	}
	check(decodeKey, file.Key.Valid, file.Key.Invalid)
	check(decodeSignature, file.Signature.Valid, file.Signature.Invalid)
}
