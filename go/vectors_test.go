package countersign

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const vectorsDir = "../vectors"

// vectorsNotRun are the files of vectors/ that no test here reads, and why. Of transparency-log.json, tiles are not read: this package
// verifies proofs and does not walk a log.
var vectorsNotRun = map[string]string{
	"agent-reference": "the service parses path parameters",
	"approvals":       "a policy that requires approvals is refused",
	"base58":          "the service makes DIDs",
	"enrolment":       "the service compares tokens with rules",
	"errors":          "the service answers with these statuses",
	"evidence":        "there is no follower of the status feed in Go",
	"feed":            "there is no follower of the status feed in Go",
	"grade":           "the service computes grades",
	"key-directories": "directories of a policy are refused",
	"key-operations":  "an agent in Go does not rotate its key",
	"requests":        "the service checks the shape of requests",
	"sessions":        "sessions are not in Go",
	"status":          "the service changes the status",
	"text":            "the service checks labels and names",
}

func TestEveryVectorFileIsRunOrListed(t *testing.T) {
	isRun := map[string]bool{}
	tests, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range tests {
		source, err := os.ReadFile(each)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range regexp.MustCompile(`readVectors\(t, "([a-z0-9-]+)"`).FindAllStringSubmatch(string(source), -1) {
			isRun[call[1]] = true
		}
	}
	files, err := filepath.Glob(filepath.Join(vectorsDir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no vectors", err)
	}
	isThere := map[string]bool{}
	for _, each := range files {
		name := strings.TrimSuffix(filepath.Base(each), ".json")
		isThere[name] = true
		if _, isListed := vectorsNotRun[name]; isListed == isRun[name] {
			t.Errorf("%s: a test reads it, or vectorsNotRun says why not", each)
		}
	}
	for name := range vectorsNotRun {
		if !isThere[name] {
			t.Error("vectorsNotRun names a file that is gone:", name)
		}
	}
}

// readVectors reads a file of vectors/ into a value.
func readVectors(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(vectorsDir, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(name, err)
	}
}

// isWellFormed reports whether a text of a vector reached this test: encoding/json replaces lone surrogates, which Go cannot have.
func isWellFormed(text string) bool { return !strings.ContainsRune(text, '\ufffd') }

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
