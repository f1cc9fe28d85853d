package countersign

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

type logVectors struct {
	Roots []struct {
		Name, Root string
		Size       int64
	}
	Inclusion []struct {
		Name, Leaf, Root string
		Index, Size      int64
		Proof            []string
	}
	Consistency []struct {
		Name, OldRoot, Root string
		OldSize, Size       int64
		Proof               []string
	}
	Checkpoint struct {
		Note, Origin, Root, VerifierKey string
		Size                            int64
	}
	Cosignature struct {
		Note, VerifierKey string
		Time              int64
	}
	Commitment struct {
		Commitment, SaltHex, ShortName string
		Evidence                       json.RawMessage
	}
	InvalidNotes []struct{ Name, Note string }
}

func hashOf(t *testing.T, text string) (hash TreeHash) {
	t.Helper()
	data, ok := decodeKey(text)
	if !ok {
		t.Fatal(text)
	}
	copy(hash[:], data)
	return hash
}

func hashesOf(t *testing.T, texts []string) (hashes []TreeHash) {
	for _, each := range texts {
		hashes = append(hashes, hashOf(t, each))
	}
	return hashes
}

// rootOf is the definition of RFC 6962 section 2.1.
func rootOf(leaves []TreeHash) TreeHash {
	if len(leaves) == 0 {
		return sha256.Sum256(nil)
	}
	if len(leaves) == 1 {
		return leaves[0]
	}
	middle := 1
	for middle*2 < len(leaves) {
		middle *= 2
	}
	return hashNode(rootOf(leaves[:middle]), rootOf(leaves[middle:]))
}

// pathOf is the audit path of RFC 6962 section 2.1.1.
func pathOf(index int, leaves []TreeHash) []TreeHash {
	if len(leaves) == 1 {
		return nil
	}
	middle := 1
	for middle*2 < len(leaves) {
		middle *= 2
	}
	if index < middle {
		return append(pathOf(index, leaves[:middle]), rootOf(leaves[middle:]))
	}
	return append(pathOf(index-middle, leaves[middle:]), rootOf(leaves[:middle]))
}

func TestTreeVectors(t *testing.T) {
	var file logVectors
	readVectors(t, "transparency-log", &file)
	for _, each := range file.Roots {
		leaves := make([]TreeHash, each.Size)
		for i := range leaves {
			leaves[i] = HashLeaf([]byte(fmt.Sprintf("entry %d", i)))
		}
		if rootOf(leaves) != hashOf(t, each.Root) {
			t.Error(each.Name)
		}
	}
	for _, each := range file.Inclusion {
		head := TreeHead{each.Size, hashOf(t, each.Root)}
		leaf, proof := HashLeaf([]byte(fmt.Sprintf("entry %d", each.Index))), hashesOf(t, each.Proof)
		if leaf != hashOf(t, each.Leaf) || !VerifyInclusion(head, each.Index, leaf, proof) {
			t.Error(each.Name)
		}
		if VerifyInclusion(head, each.Index+1, leaf, proof) || VerifyInclusion(head, each.Index, leaf, append(proof, leaf)) ||
			VerifyInclusion(head, each.Index, HashLeaf(nil), proof) || VerifyInclusion(head, -1, leaf, proof) {
			t.Error("not", each.Name)
		}
	}
	for _, each := range file.Consistency {
		old, current := TreeHead{each.OldSize, hashOf(t, each.OldRoot)}, TreeHead{each.Size, hashOf(t, each.Root)}
		proof := hashesOf(t, each.Proof)
		if !VerifyConsistency(old, current, proof) {
			t.Error(each.Name)
		}
		if VerifyConsistency(TreeHead{each.OldSize, HashLeaf(nil)}, current, proof) || VerifyConsistency(old, current, append(proof, HashLeaf(nil))) {
			t.Error("not", each.Name)
		}
		if each.OldSize != each.Size && VerifyConsistency(current, old, proof) {
			t.Error("a smaller tree", each.Name)
		}
	}
}

func TestNoteVectors(t *testing.T) {
	var file logVectors
	readVectors(t, "transparency-log", &file)
	key := file.Checkpoint.VerifierKey
	for _, note := range []string{file.Checkpoint.Note, file.Cosignature.Note} {
		checkpoint, err := OpenCheckpoint(note, key)
		if err != nil || checkpoint.Origin != file.Checkpoint.Origin || checkpoint.Size != file.Checkpoint.Size ||
			checkpoint.Root != hashOf(t, file.Checkpoint.Root) {
			t.Error(checkpoint, err)
		}
	}
	for _, each := range file.InvalidNotes {
		if _, err := OpenCheckpoint(each.Note, key); !errors.Is(err, &Error{Code: CodeInvalidProof}) {
			t.Error(each.Name, err)
		}
	}
	note := file.Checkpoint.Note
	for _, malformed := range []string{
		"", strings.TrimSuffix(note, "\n"), strings.Replace(note, "\u2014", "-", 1), strings.Replace(note, "\n\n", "\n", 1),
		strings.Replace(note, "600", "0600", 1), "\x00" + note, strings.Replace(note, "=\n\n", "=\r\n\n", 1),
		note + strings.Repeat("\u2014 stranger.example AAAAAAA=\n", 64),
	} {
		if _, err := OpenCheckpoint(malformed, key); err == nil {
			t.Errorf("%q", malformed)
		}
	}
	other := newTestLog(t, "log.example")
	text := "other.example\n" + strings.SplitN(note, "\n", 2)[1]
	text = text[:strings.Index(text, "\n\n")+1]
	if _, err := OpenCheckpoint(text+"\n"+other.signatureLine(noteEd25519, nil, []byte(text)), other.vkey(noteEd25519)); err == nil {
		t.Error("the checkpoint of another log")
	}
	witness, ok := parseVerifierKey(file.Cosignature.VerifierKey)
	cosigned, isNote := parseNote(file.Cosignature.Note)
	at, found := cosigned.cosignedAt(witness)
	if !ok || !isNote || !found || at != file.Cosignature.Time {
		t.Error(at)
	}
	cosigned.text += "x\n"
	if _, found := cosigned.cosignedAt(witness); found {
		t.Error("a cosignature of another text")
	}
	for _, malformed := range []string{"", key[:10], key + "A", "x" + key, strings.Replace(key, "+", " +", 1)} {
		if _, ok := parseVerifierKey(malformed); ok {
			t.Errorf("%q", malformed)
		}
	}
}

func TestCommitmentVector(t *testing.T) {
	var file logVectors
	readVectors(t, "transparency-log", &file)
	each := file.Commitment
	evidence, err := parseJSON(each.Evidence)
	if err != nil {
		t.Fatal(err)
	}
	prefix := append([]byte(each.ShortName+"-log-commitment-v1"), unhex(t, each.SaltHex)...)
	digest := sha256.Sum256(append(prefix, canonicalJSON(evidence)...))
	if encodeBase64(digest[:]) != each.Commitment {
		t.Error(encodeBase64(digest[:]))
	}
}

// A testLog is a log with a key, whose entries are given.
type testLog struct {
	key     *AgentKey
	name    string
	entries []string
}

func (l *testLog) vkey(kind byte) string {
	key := noteKey{l.name, kind, l.key.publicBytes()}
	return fmt.Sprintf("%s+%08x+%s", l.name, key.id(), encodeBase64(append([]byte{kind}, key.publicKey...)))
}

func (l *testLog) signatureLine(kind byte, before, message []byte) string {
	id := noteKey{l.name, kind, l.key.publicBytes()}.id()
	data := append([]byte{byte(id >> 24), byte(id >> 16), byte(id >> 8), byte(id)}, before...)
	return fmt.Sprintf("\u2014 %s %s\n", l.name, encodeBase64(append(data, l.key.sign(message)...)))
}

func (l *testLog) proof(index int) string {
	leaves := make([]TreeHash, len(l.entries))
	for i, each := range l.entries {
		leaves[i] = HashLeaf([]byte(each))
	}
	root := rootOf(leaves)
	text := fmt.Sprintf("%s\n%d\n%s\n", l.name, len(leaves), encodeBase64(root[:]))
	lines := []string{"c2sp.org/tlog-proof@v1", "extra " + encodeBase64([]byte(l.entries[index])), fmt.Sprintf("index %d", index)}
	for _, each := range pathOf(index, leaves) {
		lines = append(lines, encodeBase64(each[:]))
	}
	return strings.Join(lines, "\n") + "\n\n" + text + "\n" + l.signatureLine(noteEd25519, nil, []byte(text))
}

func newTestLog(t *testing.T, name string) *testLog {
	t.Helper()
	key, err := GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return &testLog{key: key, name: name}
}

const testDID = "svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj"

func keyEntry(kind string, sequence int) string {
	hash := encodeBase64(make([]byte, 32))
	return fmt.Sprintf(`{"at":1,"by":"agent","commitment":"%s","did":"%s","key":"%s","keySequence":%d,"prev":null,"type":"%s","v":1}`,
		hash, testDID, strings.Repeat("a", 43), sequence, kind)
}

func TestKeyProofs(t *testing.T) {
	log, witness := newTestLog(t, "id.example/log/1"), newTestLog(t, "w.example")
	log.entries = []string{keyEntry("claimed", 1), keyEntry("grade", 1), keyEntry("key_rotated", 2)}
	key := AgentKeyID{testDID, strings.Repeat("a", 43), 2}
	policy := func(text string) *LogPolicy {
		parsed, err := ParseLogPolicy(text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	logged := policy("log " + log.vkey(noteEd25519) + "\nquorum none\n")
	proof := log.proof(2)
	found, err := VerifyKeyProof(proof, key, logged)
	if err != nil || found.Index != 2 || found.Checkpoint.Size != 3 || found.Checkpoint.Origin != log.name {
		t.Fatal(found, err)
	}
	for name, refused := range map[string]struct {
		proof  string
		key    AgentKeyID
		policy *LogPolicy
	}{
		"another key":         {log.proof(0), key, logged},
		"another entry":       {log.proof(1), AgentKeyID{testDID, key.KeyThumbprint, 1}, logged},
		"another number":      {proof, AgentKeyID{testDID, key.KeyThumbprint, 3}, logged},
		"another place":       {strings.Replace(proof, "index 2", "index 1", 1), key, logged},
		"no entry":            {strings.Replace(proof, "extra ", "index ", 1), key, logged},
		"an entry with space": {strings.Replace(proof, encodeBase64([]byte(log.entries[2])), encodeBase64([]byte(log.entries[2]+" ")), 1), key, logged},
		"another log":         {proof, key, policy("log " + newTestLog(t, log.name).vkey(noteEd25519) + "\nquorum none")},
		"garbage":             {"c2sp.org/tlog-proof@v1\n\nx", key, logged},
		"nothing":             {"", key, logged},
	} {
		if _, err := VerifyKeyProof(refused.proof, refused.key, refused.policy); !errors.Is(err, &Error{Code: CodeInvalidProof}) {
			t.Error(name, err)
		}
	}

	spaced := &testLog{log.key, log.name, []string{strings.Replace(log.entries[2], ",", ", ", 1)}}
	if _, err := VerifyKeyProof(spaced.proof(0), key, logged); !errors.Is(err, &Error{Code: CodeInvalidProof}) {
		t.Error("an entry that is not canonical", err)
	}

	witnessed := policy("log " + log.vkey(noteEd25519) + "\nwitness w " + witness.vkey(noteCosignature) + "\ngroup g 1 w\nquorum g\n")
	if _, err := VerifyKeyProof(proof, key, witnessed); err == nil {
		t.Error("a quorum is missing")
	}
	_, rest, _ := strings.Cut(proof, "\n\n")
	text, _, _ := strings.Cut(rest, "\n\n")
	before := []byte{0, 0, 0, 0, 0, 0, 0, 9}
	cosigned := proof + witness.signatureLine(noteCosignature, before, []byte("cosignature/v1\ntime 9\n"+text+"\n"))
	found, err = VerifyKeyProof(cosigned, key, witnessed)
	if err != nil || len(found.Witnesses) != 1 || found.Witnesses[0].Name != "w" || found.Witnesses[0].Time.Unix() != 9 {
		t.Error(found, err)
	}
}

func TestLogPoliciesThatAreRefused(t *testing.T) {
	log, witness := newTestLog(t, "log.example"), newTestLog(t, "w.example")
	vkey, wkey := log.vkey(noteEd25519), witness.vkey(noteCosignature)
	for _, text := range []string{
		"", "log " + vkey, "quorum x", "quorum none\nquorum none", "log " + wkey + "\nquorum none", "log " + vkey + "\nlog " + vkey + "\nquorum none",
		"witness w " + vkey + "\nquorum w", "witness none " + wkey + "\nquorum none", "group g 1 w\nquorum g",
		"witness w " + wkey + "\ngroup g 2 w\nquorum g", "witness w " + wkey + "\ngroup g 0 w\nquorum g",
		"witness w " + wkey + "\ngroup g 1 w w\nquorum g", "other\nquorum none", "quorum none\x01", "log " + vkey + " a b\nquorum none",
	} {
		if _, err := ParseLogPolicy(text); !errors.Is(err, &Error{Code: CodeInvalidArgument}) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
