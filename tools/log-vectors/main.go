// Writes vectors/transparency-log.json with Go's own implementation of the log:
//
//	GO111MODULE=off GOPATH=/usr/share/gocode go run tools/log-vectors/main.go > vectors/transparency-log.json
package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type object map[string]any

type hashes []tlog.Hash

func (h hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		out[i] = h[at]
	}
	return out, nil
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func tree(size int) hashes {
	var stored hashes
	for i := 0; i < size; i++ {
		added, err := tlog.StoredHashes(int64(i), []byte(fmt.Sprintf("entry %d", i)), stored)
		check(err)
		stored = append(stored, added...)
	}
	return stored
}

func b64(bytes []byte) string { return base64.StdEncoding.EncodeToString(bytes) }

func texts(proof []tlog.Hash) []string {
	out := []string{}
	for _, hash := range proof {
		out = append(out, b64(hash[:]))
	}
	return out
}

func signature(name string, id []byte, signed []byte) string {
	return "\u2014 " + name + " " + b64(append(append([]byte{}, id...), signed...)) + "\n"
}

func keyID(name string, kind byte, public []byte) []byte {
	sum := sha256.Sum256(append([]byte(name+"\n"), append([]byte{kind}, public...)...))
	return sum[:4]
}

func vkey(name string, kind byte, public []byte) string {
	return name + "+" + hex.EncodeToString(keyID(name, kind, public)) + "+" + b64(append([]byte{kind}, public...))
}

func isListed(cases []object, name string) bool {
	for _, each := range cases {
		if each["name"] == name {
			return true
		}
	}
	return false
}

func main() {
	stored := tree(600)
	roots, inclusions, consistencies := []object{}, []object{}, []object{}
	for _, size := range []int64{1, 2, 3, 7, 8, 255, 256, 257, 511, 512, 600} {
		root, err := tlog.TreeHash(size, stored)
		check(err)
		roots = append(roots, object{"name": fmt.Sprintf("%d entries", size), "size": size, "root": b64(root[:])})
		for _, index := range []int64{0, size / 2, size - 1} {
			name := fmt.Sprintf("entry %d of %d", index, size)
			if isListed(inclusions, name) {
				continue
			}
			proof, err := tlog.ProveRecord(size, index, stored)
			check(err)
			leaf := tlog.RecordHash([]byte(fmt.Sprintf("entry %d", index)))
			inclusions = append(inclusions, object{"name": name, "index": index, "size": size, "leaf": b64(leaf[:]), "root": b64(root[:]), "proof": texts(proof)})
		}
		for _, old := range []int64{1, 2, size / 3, size / 2, size - 1} {
			name := fmt.Sprintf("%d of %d entries", old, size)
			if old < 1 || old >= size || isListed(consistencies, name) {
				continue
			}
			proof, err := tlog.ProveTree(size, old, stored)
			check(err)
			oldRoot, err := tlog.TreeHash(old, stored)
			check(err)
			consistencies = append(consistencies, object{"name": name, "oldSize": old, "oldRoot": b64(oldRoot[:]), "size": size, "root": b64(root[:]), "proof": texts(proof)})
		}
	}

	tiles := []object{}
	for _, tile := range []tlog.Tile{{H: 8, L: 0, N: 0, W: 256}, {H: 8, L: 0, N: 5, W: 17}, {H: 8, L: 1, N: 1234067, W: 256}, {H: 8, L: 2, N: 999, W: 1}, {H: 8, L: 0, N: 1000, W: 255}, {H: 8, L: -1, N: 1234067, W: 3}} {
		path := strings.Replace(strings.Replace(tile.Path(), "tile/8/", "tile/", 1), "tile/data/", "tile/entries/", 1)
		var level any = tile.L
		if tile.L < 0 {
			level = "entries"
		}
		tiles = append(tiles, object{"name": path, "path": path, "level": level, "index": tile.N, "width": tile.W})
	}

	seed := sha256.Sum256([]byte("log"))
	key := ed25519.NewKeyFromSeed(seed[:])
	public := []byte(key.Public().(ed25519.PublicKey))
	origin := "id.example/log/1"
	id := keyID(origin, 1, public)
	signer, err := note.NewSigner("PRIVATE+KEY+" + origin + "+" + hex.EncodeToString(id) + "+" + b64(append([]byte{1}, seed[:]...)))
	check(err)
	root, err := tlog.TreeHash(600, stored)
	check(err)
	text := fmt.Sprintf("%s\n600\n%s\n", origin, b64(root[:]))
	signed, err := note.Sign(&note.Note{Text: text}, signer)
	check(err)

	witnessSeed := sha256.Sum256([]byte("witness"))
	witnessKey := ed25519.NewKeyFromSeed(witnessSeed[:])
	witnessPublic := []byte(witnessKey.Public().(ed25519.PublicKey))
	witness, time := "witness.example/w1", uint64(1800000000)
	cosigned := ed25519.Sign(witnessKey, []byte(fmt.Sprintf("cosignature/v1\ntime %d\n%s", time, text)))
	stamp := make([]byte, 8)
	binary.BigEndian.PutUint64(stamp, time)
	cosignature := signature(witness, keyID(witness, 4, witnessPublic), append(stamp, cosigned...))
	other := signature(origin, id, ed25519.Sign(witnessKey, []byte(text)))

	salt := sha256.Sum256([]byte("salt"))
	evidence := `{"signature":"AA==","agentId":"caf\u00e9"}`
	canonical := "{\"agentId\":\"caf\u00e9\",\"signature\":\"AA==\"}"
	commitment := sha256.Sum256(append(append([]byte("svc-log-commitment-v1"), salt[:]...), canonical...))

	out := object{
		"roots": roots, "inclusion": inclusions, "consistency": consistencies, "tiles": tiles,
		"invalidTiles": []object{
			{"name": "a zero too many", "path": "tile/00/001", "why": "level with a leading zero"},
			{"name": "a level above 63", "path": "tile/64/001", "why": "level above 63"},
			{"name": "two digits", "path": "tile/0/01", "why": "groups have three digits"},
			{"name": "a group of zeros", "path": "tile/0/x000/001", "why": "index with leading zeros"},
			{"name": "no x", "path": "tile/0/001/001", "why": "all groups but the last begin with x"},
			{"name": "a full partial tile", "path": "tile/0/001.p/256", "why": "a full tile has no width"},
			{"name": "no width", "path": "tile/0/001.p/0", "why": "width 0"},
			{"name": "a path upwards", "path": "tile/0/../001", "why": "not a number"},
		},
		"checkpoint": object{
			"origin": origin, "size": 600, "root": b64(root[:]), "seedHex": hex.EncodeToString(seed[:]), "verifierKey": vkey(origin, 1, public),
			"note": string(signed),
		},
		"invalidNotes": []object{
			{"name": "another key", "note": text + "\n" + other, "why": "signed by another key under the same name and ID"},
			{"name": "another size", "note": strings.Replace(string(signed), "\n600\n", "\n601\n", 1), "why": "text changed"},
			{"name": "another origin", "note": strings.Replace(string(signed), origin+"\n", "id.example/log/2\n", 1), "why": "of another log"},
			{"name": "no signature", "note": text + "\n", "why": "no signature"},
			{"name": "a signature by a stranger only", "note": text + "\n" + cosignature, "why": "the log has not signed"},
			{"name": "a second signature that is wrong", "note": string(signed) + other, "why": "one signature by the key does not verify"},
		},
		"cosignature": object{
			"verifierKey": vkey(witness, 4, witnessPublic), "seedHex": hex.EncodeToString(witnessSeed[:]), "time": time,
			"note": string(signed) + cosignature,
		},
		"commitment": object{"shortName": "svc", "saltHex": hex.EncodeToString(salt[:]), "evidence": json.RawMessage(evidence), "commitment": b64(commitment[:])},
	}
	var printed strings.Builder
	encoder := json.NewEncoder(&printed)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	check(encoder.Encode(out))
	for _, r := range printed.String() {
		if r < 128 {
			fmt.Print(string(r))
		} else {
			fmt.Printf("\\u%04x", r)
		}
	}
}
