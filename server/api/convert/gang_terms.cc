#include "server/api/convert/gang_terms.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

#include "core/must.h"

namespace subak::api {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

using Fields = std::array<const FieldDescriptor*, kWishCount>;

// The field of each wish in the message, by Wish::place. A test reads and writes all of them.
template <class M>
const Fields& fields_of() {
  static const Fields kFields = [] {
    Fields fields{};
    each_wish([&](const auto& wish) {
      fields[wish.place] = M::descriptor()->FindFieldByName(std::string(wish.field));
      must(fields[wish.place] != nullptr, "a message of the API has a field for each wish");
    });
    return fields;
  }();
  return kFields;
}

// Reads a field as a number. Enums of the API have a value "unspecified" in front.
template <class T>
int number_in(const Message& in, const Reflection& reflection, const FieldDescriptor* field) {
  if constexpr (std::is_enum_v<T>) {
    return reflection.GetEnumValue(in, field);
  } else if constexpr (std::is_same_v<T, bool>) {
    return reflection.GetBool(in, field) ? 1 : 0;
  } else {
    return reflection.GetInt32(in, field);
  }
}

template <class M>
void put_terms(const GangTerms& terms, M* out) {
  const Reflection* const reflection = out->GetReflection();
  const Fields& fields = fields_of<M>();
  each_wish([&]<class T>(const Wish<T>& wish) {
    const T value = terms.*wish.member;
    const FieldDescriptor* const field = fields[wish.place];
    if constexpr (std::is_enum_v<T>) {
      reflection->SetEnumValue(out, field, static_cast<int>(value) + 1);
    } else if constexpr (std::is_same_v<T, bool>) {
      reflection->SetBool(out, field, value);
    } else {
      reflection->SetInt32(out, field, static_cast<std::int32_t>(value));
    }
  });
}

template <class M>
GangTerms read_terms(Check& check, const M& in) {
  GangTerms out;
  const Reflection& reflection = *in.GetReflection();
  const Fields& fields = fields_of<M>();
  each_stored_wish([&]<class T>(const Wish<T>& wish) {
    const int number = number_in<T>(in, reflection, fields[wish.place]);
    if constexpr (std::is_enum_v<T>) {
      const int last = static_cast<int>(EnumText<T>::names.size());
      const int value = check.enum_value(wish.field, number, last);
      out.*wish.member = value <= 0 ? T{} : static_cast<T>(value - 1);
    } else if constexpr (std::is_same_v<T, bool>) {
      out.*wish.member = number != 0;
    } else {
      out.*wish.member = static_cast<T>(check.number(wish.field, number, 0, wish.most));
    }
  });
  return out;
}

}  // namespace

void put(const GangTerms& terms, v1::GangRequest* out) { put_terms(terms, out); }
void put(const GangTerms& terms, v1::PodRecord* out) { put_terms(terms, out); }

GangTerms get_terms(Check& check, const v1::GangRequest& in) { return read_terms(check, in); }
GangTerms get_terms(Check& check, const v1::PodRecord& in) { return read_terms(check, in); }

GangTerms known_terms(const v1::GangRequest& in) {
  GangTerms out;
  const Reflection& reflection = *in.GetReflection();
  const Fields& fields = fields_of<v1::GangRequest>();
  each_wish([&]<class T>(const Wish<T>& wish) {
    const int number = number_in<T>(in, reflection, fields[wish.place]);
    if constexpr (std::is_enum_v<T>) {
      const int values = static_cast<int>(EnumText<T>::names.size());
      if (number > 0 && number <= values) out.*wish.member = static_cast<T>(number - 1);
    } else {
      if (number > 0) out.*wish.member = static_cast<T>(number);
    }
  });
  return out;
}

}  // namespace subak::api
