package countersign

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Signed notes (C2SP signed-note), checkpoints (C2SP tlog-checkpoint) and cosignatures (C2SP tlog-cosignature).

const (
	maxNoteLength     = 65_536
	maxNoteSignatures = 64

	noteEd25519     = 1
	noteCosignature = 4
)

// A noteKey is a key that signs notes.
type noteKey struct {
	name string
	// kind is noteEd25519 or noteCosignature.
	kind      byte
	publicKey []byte
}

type noteSignature struct {
	name string
	id   uint32
	// signature has 64 bytes of Ed25519, after a time of 8 bytes for cosignatures.
	signature []byte
}

type signedNote struct {
	// text is what the signatures are over, with its final line feed.
	text       string
	signatures []noteSignature
}

var (
	verifierKeyPattern = regexp.MustCompile(`^([^+]+)\+([0-9a-f]{8})\+(.*)$`)
	treeSizePattern    = regexp.MustCompile(`^(?:0|[1-9][0-9]{0,15})$`)
)

// id returns the first 4 bytes of SHA-256(name ‖ 0x0A ‖ type ‖ public key).
func (k noteKey) id() uint32 {
	digest := sha256.Sum256(append(append([]byte(k.name+"\n"), k.kind), k.publicKey...))
	return binary.BigEndian.Uint32(digest[:4])
}

// parseVerifierKey reads <name>+<key ID in hexadecimal>+<base64 of type and public key>.
func parseVerifierKey(text string) (noteKey, bool) {
	parts := verifierKeyPattern.FindStringSubmatch(text)
	if parts == nil || !isNoteName(parts[1]) {
		return noteKey{}, false
	}
	data, ok := decodeBase64(parts[3])
	if !ok || len(data) != 33 || (data[0] != noteEd25519 && data[0] != noteCosignature) {
		return noteKey{}, false
	}
	key := noteKey{parts[1], data[0], data[1:]}
	return key, fmt.Sprintf("%08x", key.id()) == parts[2]
}

// isNoteName reports whether text can be the name of a key: not empty, without white space, + and control characters.
func isNoteName(text string) bool {
	return text != "" && utf8.ValidString(text) && strings.IndexFunc(text, func(letter rune) bool {
		return letter == '+' || unicode.IsSpace(letter) || unicode.In(letter, unicode.Cc, unicode.Z)
	}) < 0
}

// parseNote reads a note. Nothing of it is verified yet.
func parseNote(text string) (signedNote, bool) {
	if len(text) > maxNoteLength || !utf8.ValidString(text) || strings.IndexFunc(text, isNoteControl) >= 0 {
		return signedNote{}, false
	}
	end := strings.LastIndex(text, "\n\n")
	if end < 0 || !strings.HasSuffix(text, "\n") {
		return signedNote{}, false
	}
	lines := strings.Split(strings.TrimSuffix(text[end+2:], "\n"), "\n")
	if len(lines) > maxNoteSignatures {
		return signedNote{}, false
	}
	note := signedNote{text: text[:end+1]}
	for _, line := range lines {
		signature, ok := parseNoteSignature(line)
		if !ok {
			return signedNote{}, false
		}
		note.signatures = append(note.signatures, signature)
	}
	return note, true
}

func isNoteControl(letter rune) bool { return letter < 0x20 && letter != '\n' }

func parseNoteSignature(line string) (noteSignature, bool) {
	rest, ok := cutPrefix(line, "\u2014 ")
	name, encoded, hasSpace := strings.Cut(rest, " ")
	data, isBase64 := decodeBase64(encoded)
	if !ok || !hasSpace || !isNoteName(name) || !isBase64 || len(data) < 5 {
		return noteSignature{}, false
	}
	return noteSignature{name, binary.BigEndian.Uint32(data[:4]), data[4:]}, true
}

// by returns the signatures by a key: those with its name and ID.
func (n signedNote) by(key noteKey) [][]byte {
	var found [][]byte
	id := key.id()
	for _, each := range n.signatures {
		if each.name == key.name && each.id == id {
			found = append(found, each.signature)
		}
	}
	return found
}

// isSignedBy reports whether a key of the kind noteEd25519 has signed the note. If it has several signatures by the key, all of them verify.
func (n signedNote) isSignedBy(key noteKey) bool {
	signatures := n.by(key)
	for _, each := range signatures {
		if !verifySignature(key.publicKey, []byte(n.text), each) {
			return false
		}
	}
	return len(signatures) > 0
}

// cosignedAt returns the newest time, in Unix seconds, at which a witness cosigned the note; false if there is no cosignature by this
// key, or one is invalid.
func (n signedNote) cosignedAt(witness noteKey) (int64, bool) {
	newest, found := int64(0), false
	for _, each := range n.by(witness) {
		if witness.kind != noteCosignature || len(each) != 72 {
			return 0, false
		}
		time := binary.BigEndian.Uint64(each[:8])
		message := fmt.Sprintf("cosignature/v1\ntime %d\n%s", time, n.text)
		if time > maxSafeInteger || !verifySignature(witness.publicKey, []byte(message), each[8:]) {
			return 0, false
		}
		if int64(time) > newest {
			newest = int64(time)
		}
		found = true
	}
	return newest, found
}

// A Checkpoint is what a log signs: its size and its root.
type Checkpoint struct {
	// Origin is the name of the log, such as id.example/log/1.
	Origin string
	TreeHead
}

func parseCheckpoint(text string) (Checkpoint, bool) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 3 || lines[0] == "" || !strings.HasSuffix(text, "\n") {
		return Checkpoint{}, false
	}
	size, isSize := parseTreeSize(lines[1])
	root, isRoot := decodeKey(lines[2])
	for _, each := range lines[3:] {
		if each == "" {
			return Checkpoint{}, false
		}
	}
	if !isSize || !isRoot {
		return Checkpoint{}, false
	}
	checkpoint := Checkpoint{Origin: lines[0], TreeHead: TreeHead{Size: size}}
	copy(checkpoint.Root[:], root)
	return checkpoint, true
}

// parseTreeSize reads a size or an index: decimal, without leading zeros, at most 2^53 - 1.
func parseTreeSize(text string) (int64, bool) {
	number, err := strconv.ParseInt(text, 10, 64)
	return number, err == nil && treeSizePattern.MatchString(text) && number <= maxSafeInteger
}

// OpenCheckpoint reads a signed checkpoint of a log, whose verifier key is <name>+<ID>+<key>. The error has CodeInvalidArgument for
// another key, and CodeInvalidProof if the checkpoint is malformed, of another log, or not signed by the key.
func OpenCheckpoint(signed, verifierKey string) (Checkpoint, error) {
	key, ok := parseVerifierKey(verifierKey)
	if !ok || key.kind != noteEd25519 {
		return Checkpoint{}, errorf(CodeInvalidArgument, "This is not the verifier key of a log.")
	}
	checkpoint, _, ok := openCheckpoint(signed, key)
	if !ok {
		return Checkpoint{}, errorf(CodeInvalidProof, "The checkpoint is not one of %s that its key has signed.", key.name)
	}
	return checkpoint, nil
}

func openCheckpoint(signed string, key noteKey) (Checkpoint, signedNote, bool) {
	note, ok := parseNote(signed)
	if !ok {
		return Checkpoint{}, signedNote{}, false
	}
	checkpoint, ok := parseCheckpoint(note.text)
	return checkpoint, note, ok && checkpoint.Origin == key.name && note.isSignedBy(key)
}
