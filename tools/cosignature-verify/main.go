// Verifies the cosignature of a checkpoint with Go's own packages, which share no code with the service:
//
//	cosignature-verify <verifier key of the log> <verifier key of the witness> < checkpoint
//
// It prints when the witness has signed, in Unix seconds. The note must have valid signatures of both.
package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// A witness of C2SP tlog-cosignature, with Ed25519: key type 4.
type witness struct {
	name string
	key  ed25519.PublicKey
}

func (w witness) Name() string { return w.name }

func (w witness) KeyHash() uint32 {
	hash := sha256.Sum256([]byte(w.name + "\n\x04" + string(w.key)))
	return binary.BigEndian.Uint32(hash[:])
}

func (w witness) Verify(message, signature []byte) bool {
	if len(signature) != 8+ed25519.SignatureSize {
		return false
	}
	signed := fmt.Sprintf("cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(signature), message)
	return ed25519.Verify(w.key, []byte(signed), signature[8:])
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func parse(vkey string) witness {
	parts := strings.SplitN(vkey, "+", 3)
	if len(parts) != 3 {
		log.Fatal("the verifier key is malformed")
	}
	bytes, err := base64.StdEncoding.DecodeString(parts[2])
	check(err)
	if len(bytes) != 1+ed25519.PublicKeySize || bytes[0] != 4 {
		log.Fatal("the verifier key is not one of a witness")
	}
	found := witness{parts[0], ed25519.PublicKey(bytes[1:])}
	if fmt.Sprintf("%08x", found.KeyHash()) != parts[1] {
		log.Fatal("the verifier key has another ID")
	}
	return found
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: cosignature-verify <verifier key of the log> <verifier key of the witness> < checkpoint")
	}
	signed, err := io.ReadAll(os.Stdin)
	check(err)
	verifier, err := note.NewVerifier(os.Args[1])
	check(err)
	cosigner := parse(os.Args[2])
	opened, err := note.Open(signed, note.VerifierList(verifier, cosigner))
	check(err)
	if len(opened.Sigs) != 2 {
		log.Fatal("the checkpoint is not signed by both")
	}
	for _, signature := range opened.Sigs {
		if signature.Name != cosigner.name {
			continue
		}
		bytes, err := base64.StdEncoding.DecodeString(signature.Base64)
		check(err)
		fmt.Println(binary.BigEndian.Uint64(bytes[4:]))
	}
}
