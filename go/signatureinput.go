package countersign

// A signatureInput is a signature with its parameters, read from Signature-Input, Signature and Signature-Agent.
type signatureInput struct {
	components []component
	// params is the serialized value of @signature-params.
	params           string
	created, expires int64
	// hasTimes: both are there.
	hasTimes  bool
	keyid     string
	nonce     string
	hasNonce  bool
	alg       string
	hasAlg    bool
	signature []byte
	agent     SignatureAgent
}

func (i signatureInput) exceedsLifetime(rules SignatureRules) bool {
	return !i.hasTimes || i.expires <= i.created || i.expires-i.created > rules.MaxLifetimeSeconds
}

// readSignature reads the one signature of Web Bot Auth, or says why not. singletons are header fields that occur once.
func readSignature(fields headerFields, singletons []string) (signatureInput, string) {
	inputField, hasInput := fields.value("signature-input")
	signatureField, hasSignature := fields.value("signature")
	if !hasInput && !hasSignature {
		return signatureInput{}, "unsigned"
	}
	for _, lines := range fields {
		length := 0
		for _, each := range lines {
			length += len(each)
		}
		if length > maxFieldLength {
			return signatureInput{}, "limits"
		}
	}
	if !hasInput || !hasSignature {
		return signatureInput{}, "malformed"
	}
	for _, name := range singletons {
		if len(fields[name]) > 1 {
			return signatureInput{}, "malformed"
		}
	}
	inputs, err := parseDictionary(inputField)
	if err != nil {
		return signatureInput{}, "malformed"
	}
	signatures, err := parseDictionary(signatureField)
	if err != nil {
		return signatureInput{}, "malformed"
	}
	if len(inputs) > maxSignatures || len(signatures) > maxSignatures {
		return signatureInput{}, "limits"
	}
	tagged, others := taggedMember(inputs)
	if tagged == nil {
		return signatureInput{}, "unsigned"
	}
	value, ok := signatures.get(tagged.key)
	signature, isBytes := value.value.([]byte)
	if others || !tagged.member.isList || !ok || !isBytes || len(value.params) > 0 {
		return signatureInput{}, "malformed"
	}
	if len(tagged.member.items) > maxComponents {
		return signatureInput{}, "limits"
	}
	return readMember(fields, tagged.member, signature)
}

// taggedMember finds a member by its tag, since intermediaries may change labels. others: there are several.
func taggedMember(dictionary sfDictionary) (tagged *sfEntry, others bool) {
	for i, each := range dictionary {
		if tag, _ := each.member.params.text("tag"); tag != webBotAuthTag {
			continue
		}
		if tagged != nil {
			return tagged, true
		}
		tagged = &dictionary[i]
	}
	return tagged, false
}

func readMember(fields headerFields, member sfMember, signature []byte) (signatureInput, string) {
	components, err := readComponents(member)
	if err != nil {
		return signatureInput{}, "malformed"
	}
	input := signatureInput{components: components, params: member.serialize(), signature: signature}
	var agent *component
	for i, each := range components {
		if each.name == "signature-agent" {
			agent = &components[i]
		}
		if each.name[:1] == "@" {
			continue
		}
		if _, err := coveredField(fields, each.name); err != nil {
			return signatureInput{}, "malformed"
		}
	}
	keyid, ok := member.params.text("keyid")
	if agent == nil || !ok || !keyidPattern.MatchString(keyid) {
		return signatureInput{}, "malformed"
	}
	input.keyid = keyid
	field, _ := fields.value("signature-agent")
	place, err := parseSignatureAgent(field, *agent)
	if err != nil {
		return signatureInput{}, "malformed"
	}
	if place == nil {
		return signatureInput{}, "untrusted-agent"
	}
	if !input.readParams(member.params) {
		return signatureInput{}, "malformed"
	}
	input.agent = *place
	return input, ""
}

// readParams reads the parameters that may be missing; false if one has another type than it should have.
func (i *signatureInput) readParams(params sfParams) bool {
	nonce, hasNonce := params.get("nonce")
	alg, hasAlg := params.get("alg")
	created, hasCreated := params.get("created")
	expires, hasExpires := params.get("expires")
	var okNonce, okAlg, okCreated, okExpires bool
	i.nonce, okNonce = nonce.(string)
	i.alg, okAlg = alg.(string)
	i.created, okCreated = created.(int64)
	i.expires, okExpires = expires.(int64)
	i.hasNonce, i.hasAlg, i.hasTimes = hasNonce, hasAlg, hasCreated && hasExpires
	return okNonce == hasNonce && okAlg == hasAlg && okCreated == hasCreated && okExpires == hasExpires
}
