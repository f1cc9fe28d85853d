// Package countersign is for agents of a Countersign service and for sites that admit them.
//
// An agent claims a certificate with its key and signs its requests (NewAgent, Agent.Client). A site puts a Gate in front of its
// http.Handler (NewGate, Gate.Middleware): it admits requests by a policy, by the proof of possession of an agent's key. Certificates,
// staples, status lists and proofs of the transparency log are verified without a request to the service (VerifyCertificate,
// VerifyStaple, VerifyStatusList, VerifyKeyProof).
//
// Formats and rules are those of docs/signed-requests.md, docs/certificates.md and docs/transparency.md, and the tests run the vectors
// that all implementations share.
package countersign
