/** Reasons of Stripe that a person can do something about (`last_error.code` of a verification session). */
const WORDS: Readonly<Record<string, string>> = {
  abandoned: 'You left before you were done at Stripe.',
  consent_declined: 'You did not agree to be verified at Stripe.',
  country_not_supported: 'Stripe does not verify documents of your country.',
  device_not_supported: 'Stripe needs a device with a camera.',
  document_expired: 'Your document has expired.',
  document_type_not_supported: 'Stripe does not accept this kind of document.',
  document_unverified_other: 'Stripe could not verify your document.',
  selfie_document_missing_photo: 'Your document has no picture of your face.',
  selfie_face_mismatch: 'Your selfie does not match the picture on your document.',
  selfie_manipulated: 'Stripe holds your selfie for altered.',
  selfie_unverified_other: 'Stripe could not verify your selfie.',
  under_supported_age: 'Stripe does not verify people of your age.',
}

/** @param code null or undefined: nothing was handed in yet */
export function whyNotVerified(code: string | null | undefined): string {
  if (!code) return 'You are not done at Stripe yet. Begin again.'
  return `${WORDS[code] ?? 'Stripe could not verify you.'} You can begin again.`
}
