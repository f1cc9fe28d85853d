package countersign

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// An AgentKey is an Ed25519 key pair. Only PEM returns the private key.
type AgentKey struct{ private ed25519.PrivateKey }

// GenerateKey makes a new key. Store it as a secret: without it, the owner has to recover the DID.
func GenerateKey() (*AgentKey, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return &AgentKey{private}, nil
}

// KeyFromSeed returns the key of a seed of 32 bytes (RFC 8032).
func KeyFromSeed(seed []byte) (*AgentKey, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, errorf(CodeUnusableKey, "A seed of Ed25519 has 32 bytes.")
	}
	return &AgentKey{ed25519.NewKeyFromSeed(seed)}, nil
}

// ParseKey reads a key from PEM (PKCS#8), also with \n written as two characters, or from a private JWK (RFC 8037) in JSON.
// The error has CodeUnusableKey.
func ParseKey(text string) (*AgentKey, error) {
	trimmed := strings.TrimSpace(text)
	if strings.HasPrefix(trimmed, "{") {
		return keyFromJWK(trimmed)
	}
	block, _ := pem.Decode([]byte(strings.ReplaceAll(trimmed, `\n`, "\n")))
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errorf(CodeUnusableKey, "This is not a private key in PEM without a password.")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := key.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, errorf(CodeUnusableKey, "This is not an Ed25519 key. Make one: openssl genpkey -algorithm ed25519")
	}
	return &AgentKey{private}, nil
}

func keyFromJWK(text string) (*AgentKey, error) {
	jwk, err := parseJSONObject([]byte(text))
	if err != nil || jwk.members["kty"] != "OKP" || jwk.members["crv"] != "Ed25519" {
		return nil, errorf(CodeUnusableKey, "This is not a private Ed25519 key in JWK (kty OKP, crv Ed25519, x, d).")
	}
	d, _ := jwk.text("d")
	seed, ok := decodeBase64URL(d)
	if !ok || len(seed) != ed25519.SeedSize {
		return nil, errorf(CodeUnusableKey, "This JWK has no private key (d).")
	}
	key, err := KeyFromSeed(seed)
	if err == nil && jwk.members["x"] != encodeBase64URL(key.publicBytes()) {
		return nil, errorf(CodeUnusableKey, "In this JWK the public key (x) does not belong to the private one (d).")
	}
	return key, err
}

// KeyFromEnvironment reads a key from an environment variable, in a form of ParseKey. The error has CodeNoKey or CodeUnusableKey.
func KeyFromEnvironment(name string) (*AgentKey, error) {
	text := os.Getenv(name)
	if text == "" {
		return nil, errorf(CodeNoKey, "The environment variable %s is not set.", name)
	}
	return ParseKey(text)
}

// KeyFromFile reads a key from a file in PEM. An empty path is that of the command countersign: COUNTERSIGN_KEY, else
// ~/.countersign/agent.pem. The error has CodeNoKey or CodeUnusableKey.
func KeyFromFile(path string) (*AgentKey, error) {
	if path == "" {
		path = DefaultKeyFile()
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errorf(CodeNoKey, "There is no key at %s. LoadOrCreateKey creates one.", path)
	}
	if err != nil {
		return nil, &Error{Code: CodeNoKey, Message: "The key cannot be read: " + err.Error(), Cause: err}
	}
	key, err := ParseKey(string(text))
	if err != nil {
		return nil, errorf(CodeUnusableKey, "%s: %s", path, err.(*Error).Message)
	}
	return key, nil
}

// LoadOrCreateKey reads a key as KeyFromFile does, and generates one if there is no file yet. Of two processes that create it at the
// same moment, one generates the key and both load it.
func LoadOrCreateKey(path string) (*AgentKey, error) {
	if path == "" {
		path = DefaultKeyFile()
	}
	key, err := KeyFromFile(path)
	if !errors.Is(err, &Error{Code: CodeNoKey}) {
		return key, err
	}
	if _, statErr := os.Stat(path); !errors.Is(statErr, fs.ErrNotExist) {
		return nil, err
	}
	if key, err = GenerateKey(); err != nil {
		return nil, err
	}
	if err := key.WriteFile(path); err != nil && !errors.Is(err, &Error{Code: CodeKeyExists}) {
		return nil, err
	}
	return KeyFromFile(path)
}

// DefaultKeyFile returns COUNTERSIGN_KEY, else ~/.countersign/agent.pem.
func DefaultKeyFile() string {
	if named := os.Getenv("COUNTERSIGN_KEY"); named != "" {
		return named
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	return filepath.Join(home, ".countersign", "agent.pem")
}

// WriteFile writes the key to a new file that only its owner can read. It is durable on disk before this returns. The error has
// CodeKeyExists if there is a file already: an agent without its key needs its owner to recover the DID.
func (k *AgentKey) WriteFile(path string) error {
	text, err := k.PEM()
	if err != nil {
		return err
	}
	directory := filepath.Dir(path)
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	draft := path + "." + randomText(16)
	defer os.Remove(draft)
	if err := writeDurably(draft, text); err != nil {
		return err
	}
	// Unlike a rename, a link replaces no file. Unlike a write in place, nobody ever reads an incomplete key.
	err = os.Link(draft, path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// A file system without hard links.
		err = writeDurably(path, text)
	}
	if errors.Is(err, fs.ErrExist) {
		return errorf(CodeKeyExists, "%s exists, and an agent without its key needs its owner to recover the DID. Choose another file.", path)
	}
	if err != nil {
		return err
	}
	return syncDirectory(directory)
}

func writeDurably(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.WriteString(text); err != nil {
		return err
	}
	return file.Sync()
}

// syncDirectory makes a new file name durable. Windows needs no sync, and cannot do it.
func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	defer directory.Close()
	if err := directory.Sync(); err != nil && os.PathSeparator == '/' {
		return err
	}
	return nil
}

func (k *AgentKey) publicBytes() []byte { return k.private.Public().(ed25519.PublicKey) }

// PublicKey returns 32 bytes in padded standard base64.
func (k *AgentKey) PublicKey() string { return encodeBase64(k.publicBytes()) }

// Thumbprint returns the JWK thumbprint (RFC 7638 with SHA-256): 43 characters.
func (k *AgentKey) Thumbprint() string { return KeyThumbprint(k.publicBytes()) }

// PEM returns PKCS#8, as openssl genpkey -algorithm ed25519 writes it. Secret.
func (k *AgentKey) PEM() (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), nil
}

// String returns the thumbprint and not the key, so that logs have no secret.
func (k *AgentKey) String() string { return "AgentKey " + k.Thumbprint() }

// GoString is String, for %#v.
func (k *AgentKey) GoString() string { return k.String() }

// sign signs bytes with pure Ed25519 (RFC 8032): 64 bytes.
func (k *AgentKey) sign(message []byte) []byte { return ed25519.Sign(k.private, message) }
