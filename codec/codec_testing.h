// The former name of what lies in testing/.
#pragma once

#include "testing/every_schema.h"
#include "testing/hex.h"
#include "testing/test_object.h"
