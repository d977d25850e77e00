"""Schema images for hosts: compiled from .proto text (image_of.cc), or written by hand from the formats."""
import subprocess
import zlib

from drover_image_format import (IMAGE_MAGIC, IMAGE_VERSION, MIN_SLOTS, OBJECT_HEADER_SIZE, STEP_BY_VALUE, FieldEntry,
                                 FieldStep, ImageHeader, MessageEntry)

NO_MORE_STEPS = FieldStep(has_bit=STEP_BY_VALUE).pack()  # in front of a message's first step


class Layout:
    """Where an image says that things lie: the index and size of a message, the offset of a field in its object."""

    def __init__(self, image):
        self.image = image
        self.header = ImageHeader.unpack(image)
        self.messages = [MessageEntry.unpack(image, self.header.messages + number * MessageEntry.SIZE)
                         for number in range(self.header.message_count)]
        self.names = [image[m.name:image.index(b"\0", m.name)].decode() for m in self.messages]

    def index(self, name):
        return self.names.index(f"hostile.{name}")

    def size(self, name):
        return self.messages[self.index(name)].object_size

    def offset(self, name, number):
        message = self.messages[self.index(name)]
        for at in range(message.first_field, message.first_field + message.field_count):
            field = FieldEntry.unpack(self.image, self.header.fields + at * FieldEntry.SIZE)
            if field.number == number:
                return field.offset
        raise KeyError(f"{name} has no field {number}")


def compiled(build, text):
    """The image of a proto3 file; its messages are sorted by their full names, in package `hostile`."""
    source = f'syntax = "proto3";\npackage hostile;\n{text}\n'
    return subprocess.run([build / "tests" / "hostile_image"], input=source.encode(), stdout=subprocess.PIPE,
                          check=True).stdout


def of_empty_messages(names, strings):
    """An image of messages without fields. `names`: offsets inside `strings`, whose last byte is NUL."""
    count = len(names)
    lookup = ImageHeader.SIZE + count * MessageEntry.SIZE
    per_message = (MIN_SLOTS + 1) * FieldStep.SIZE
    text = lookup + count * per_message
    header = ImageHeader(IMAGE_MAGIC, IMAGE_VERSION, ImageHeader.SIZE, text + len(strings), 0, count, ImageHeader.SIZE,
                         0, lookup, 0, lookup, 0, lookup, lookup, count * per_message, text, len(strings))
    entries = []
    for number, name in enumerate(names):
        slots = lookup + number * per_message
        entries.append(MessageEntry(object_size=OBJECT_HEADER_SIZE, slots=slots, slot_count=MIN_SLOTS,
                                    steps=slots + per_message, name=text + name).pack())
    no_more = bytes(MIN_SLOTS * FieldStep.SIZE) + NO_MORE_STEPS
    body = b"".join(entries) + no_more * count + strings
    header.checksum = zlib.crc32(header.pack() + body)
    return header.pack() + body
