import type Sharp from 'sharp'

/** Why an image is rejected. */
export type ImageFault =
  | 'unsupported-format'
  | 'too-many-pixels'
  | 'damaged'
  | 'outside-crop'
  | 'too-slow'

export class ImageRejected extends Error {
  override readonly name = 'ImageRejected'
  readonly fault: ImageFault

  constructor(fault: ImageFault, options?: ErrorOptions) {
    super(fault, options)
    this.fault = fault
  }
}

/** A square of an image, in pixels after EXIF rotation. */
export interface Crop {
  readonly x: number
  readonly y: number
  readonly size: number
}

const AVATAR_SIZE = 512
const MAX_PIXELS = 40_000_000
const WEBP_QUALITY = 82
const TIMEOUT_SECONDS = 10

/** The magic bytes of the accepted formats, in hex. libvips detects formats in the same way. */
const FORMATS = [
  { format: 'png', begins: /^89504e470d0a1a0a/ },
  { format: 'jpeg', begins: /^ffd8ff/ },
  { format: 'webp', begins: /^52494646.{8}57454250/ },
] as const

/**
 * Re-encodes uploaded images, so that no other bytes of an upload are ever served. Works on one image at a time, on one
 * thread, so that large uploads do not slow down lookups. A concurrency limit bounds the queue before bodies are read.
 */
export class AvatarEncoder {
  #last: Promise<unknown> = Promise.resolve()

  /**
   * @param bytes a PNG, JPEG or WebP; of an animation, the first frame is used
   * @param crop the part to use; null: the largest centered square
   * @returns a WebP of 512 × 512 pixels in sRGB, rotated upright, without metadata
   * @throws ImageRejected
   */
  encode(bytes: Uint8Array, crop: Crop | null): Promise<Uint8Array> {
    const result = this.#last.then(() => encodeAvatar(bytes, crop))
    this.#last = result.catch(() => undefined)
    return result
  }
}

/** Loads the library with the first image, to start faster. */
async function loadSharp(): Promise<typeof Sharp> {
  const { default: sharp } = await import('sharp')
  sharp.concurrency(1)
  sharp.cache(false)
  return sharp
}

async function encodeAvatar(bytes: Uint8Array, crop: Crop | null): Promise<Uint8Array> {
  const format = detectFormat(bytes)
  const sharp = await loadSharp()
  const { width, height } = await readSize(sharp, bytes, format)
  if (width * height > MAX_PIXELS) throw new ImageRejected('too-many-pixels')
  const image = sharp(bytes, { failOn: 'error', limitInputPixels: MAX_PIXELS })
    .autoOrient()
    .timeout({ seconds: TIMEOUT_SECONDS })
  if (crop !== null) {
    const { x, y, size } = crop
    if (size < 1 || x + size > width || y + size > height) throw new ImageRejected('outside-crop')
    image.extract({ left: x, top: y, width: size, height: size })
  }
  return image
    .resize(AVATAR_SIZE, AVATAR_SIZE, { fit: 'cover' })
    .webp({ quality: WEBP_QUALITY })
    .toBuffer()
    .catch((error) => {
      const fault = /timeout/.test(String(error)) ? 'too-slow' : 'damaged'
      throw new ImageRejected(fault, { cause: error })
    })
}

/** Detects the format from the bytes. The declared media type is not trusted. */
function detectFormat(bytes: Uint8Array): string {
  const start = Buffer.from(bytes.subarray(0, 12)).toString('hex')
  const known = FORMATS.find(({ begins }) => begins.test(start))
  if (known === undefined) throw new ImageRejected('unsupported-format')
  return known.format
}

/** Reads the size after rotation from the header, and checks that libvips detects the same format. */
async function readSize(
  sharp: typeof Sharp,
  bytes: Uint8Array,
  format: string,
): Promise<{ width: number; height: number }> {
  const header = await sharp(bytes, { limitInputPixels: false })
    .metadata()
    .catch((error) => {
      throw new ImageRejected('damaged', { cause: error })
    })
  if (header.format !== format) throw new ImageRejected('unsupported-format')
  return header.autoOrient
}
