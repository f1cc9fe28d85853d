/** A square section of a picture, in pixels. */
export interface Crop {
  readonly x: number
  readonly y: number
  readonly size: number
}

export interface Size {
  readonly width: number
  readonly height: number
}

/** The minimum size of a crop, because the picture is displayed at up to 512 pixels. */
const MIN_SIZE = 128
const MAX_ZOOM = 8

/** The size of the largest square that fits. */
function maxSquare({ width, height }: Size): number {
  return Math.min(width, height)
}

/** The maximum zoom factor. */
export function maxZoom(picture: Size): number {
  return Math.max(1, Math.min(MAX_ZOOM, maxSquare(picture) / MIN_SIZE))
}

/** The largest centred square. */
export function centredCrop(picture: Size): Crop {
  const size = maxSquare(picture)
  return clampCrop(picture, { x: (picture.width - size) / 2, y: (picture.height - size) / 2, size })
}

/** The crop moved by a number of pixels, limited to the picture. */
export function moveCrop(picture: Size, crop: Crop, right: number, down: number): Crop {
  return clampCrop(picture, { ...crop, x: crop.x + right, y: crop.y + down })
}

/** The crop with the same centre at another zoom factor, limited to the picture. */
export function zoomCrop(picture: Size, crop: Crop, zoom: number): Crop {
  const closest = Math.min(Math.max(zoom, 1), maxZoom(picture))
  const size = Math.round(maxSquare(picture) / closest)
  const gain = (crop.size - size) / 2
  return clampCrop(picture, { x: crop.x + gain, y: crop.y + gain, size })
}

/** The zoom factor of a crop; 1 for the largest square. */
export function zoomOf(picture: Size, { size }: Crop): number {
  return maxSquare(picture) / size
}

function clampCrop({ width, height }: Size, { x, y, size }: Crop): Crop {
  return { x: clamp(x, width - size), y: clamp(y, height - size), size }
}

/** The service accepts only whole pixels. */
function clamp(value: number, max: number): number {
  return Math.round(Math.min(Math.max(value, 0), max))
}
