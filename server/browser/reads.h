// The methods of the API that browsers may call: the closed list of reads. No method on the list
// changes anything, and no other method is ever added at run time. Threads: any.
#pragma once

#include <google/protobuf/descriptor.h>

#include <span>
#include <string_view>

namespace subak::browser {

// Returns the paths of all methods on the list, such as "/subak.v1.JobService/ListQueue".
std::span<const std::string_view> read_methods();
// Returns the method with this path; nullptr: the path is not on the list.
const google::protobuf::MethodDescriptor* find_read(std::string_view path);

}  // namespace subak::browser
