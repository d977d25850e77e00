// Forwards, as in protobuf C++.
#pragma once

#include <google/protobuf/repeated_field.h>
